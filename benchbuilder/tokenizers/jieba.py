"""The tokenizer kind `jieba`: Chinese words by dictionary and hidden Markov model."""

from __future__ import annotations

import hashlib
import importlib
import logging
import warnings
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.errors import DataError
from benchbuilder.ports.tokenizer import Tokenizer
from benchbuilder.spec.base import FileRef, KindSpec

_SHORT = 200
_KEPT = 4096


class JiebaSpec(KindSpec):
    """Which words it knows.

    `user_dictionary` is a UTF-8 file with a word a line, optionally with its frequency (white space between). `hmm`
    says whether words that no dictionary has are guessed.
    """

    user_dictionary: FileRef | None = None
    hmm: bool = True


class Jieba(Tokenizer):
    """Tokens by jieba, with an own instance: nothing that others do to jieba changes them.

    The dictionary is parsed once a process (under a second) and neither read from nor written to jieba's cache in the
    shared temporary folder.
    """

    kind: ClassVar[str] = "jieba"
    spec_class: ClassVar[type[KindSpec]] = JiebaSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: JiebaSpec = spec
        self._cut: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cut": None}

    def fingerprint(self) -> Mapping[str, str]:
        """Version of jieba and checksum of the user dictionary."""
        known = {"jieba": version("jieba")}
        if self.spec.user_dictionary is not None:
            content = "\n".join(f"{word} {count}" for word, count in _user_words(self.spec.user_dictionary.file))
            known["user_dictionary"] = hashlib.sha256(content.encode()).hexdigest()
        return known

    def open(self) -> None:
        """Load the dictionaries."""
        if self._cut is not None:
            return
        own = self.spec.user_dictionary
        self._cut = _cut(tuple(_user_words(own.file)) if own is not None else (), self.spec.hmm)

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order; together they are the text."""
        self.open()
        return list(self._cut(text))


@cache
def _jieba() -> Any:
    """The module, imported without the warnings of its own source and without its log lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module("jieba")
    module.setLogLevel(logging.WARNING)
    return module


@cache
def _dictionary() -> tuple[dict[str, int], int]:
    blank = _jieba().Tokenizer()
    return blank.gen_pfdict(blank.get_dict_file())


@lru_cache(maxsize=4)
def _cut(own: tuple[tuple[str, int | None], ...], hmm: bool) -> Callable[[str], tuple[str, ...]]:
    """Cuts by the dictionary and `own` words. Every model's answers are compared with the same sentences: those last
    cut are kept, unless they are long."""
    frequencies, total = _dictionary()
    tokenizer = _jieba().Tokenizer()
    tokenizer.FREQ, tokenizer.total, tokenizer.initialized = frequencies, total, True
    if own:
        tokenizer.FREQ = dict(frequencies)
        for word, count in own:
            tokenizer.add_word(word, count)

    def cut(text: str) -> tuple[str, ...]:
        return tuple(tokenizer.lcut(text, HMM=hmm))

    kept = lru_cache(maxsize=_KEPT)(cut)
    return lambda text: (kept if len(text) <= _SHORT else cut)(text)


def _user_words(path: Path) -> list[tuple[str, int | None]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "the user dictionary cannot be read",
            where=str(path),
            why=str(error),
            next="check tokenizer.user_dictionary in the recipe: a UTF-8 file with a word a line",
        ) from error
    words: list[tuple[str, int | None]] = []
    for number, line in enumerate(text.splitlines(), 1):
        word, *rest = line.split()[:2] or [""]
        if rest and (not rest[0].isdecimal() or int(rest[0]) < 1):
            raise DataError(
                "the user dictionary has a wrong line",
                where=f"{path}:{number}",
                why=f"{rest[0]!r} is no frequency of 1 or more",
                next="write a word a line, optionally with its frequency",
            )
        if word:
            words.append((word, int(rest[0]) if rest else None))
    return words
