"""The tokenizer kind `jieba`: Chinese words by dictionary and hidden Markov model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, KindSpec, RuntimeOption
from benchbuilder.core import DataError, InstallationError, load_words, read_given_text
from benchbuilder.retrieval.base import Tokenizer
from benchbuilder.retrieval.tokenizers.jieba_compiled import compiled_cut, interpreted_cut
from benchbuilder.retrieval.tokenizers.jieba_data import JIEBA, is_jieba_installed, jieba_module
from benchbuilder.retrieval.tokenizers.jieba_words import CutFunction, OwnWords, may_be_a_word

Implementation = Literal["auto", "compiled", "pure"]

_SHORT = 200
_CACHE_SIZE = 4096


class JiebaSpec(KindSpec):
    """Which words it knows.

    `user_dictionary` is a UTF-8 file with one word per line, optionally followed by white space and its frequency.
    `words` is a word list (one word per line, comments after ``#``, glosses after a tab). Its words get a frequency
    that is high enough to keep them whole, unless another word claims their characters. `hmm` sets whether words
    outside the dictionaries are guessed.
    """

    user_dictionary: FileRef | None = None
    words: FileRef | None = None
    hmm: bool = True
    implementation: Annotated[Implementation, RuntimeOption()] = "auto"
    """The code that cuts: ``compiled``, or jieba itself (``pure``, the extra `jieba`); the tokens are the same.
    ``auto`` is the compiled code, unless it is missing or disagrees with jieba's dictionary."""


class JiebaTokenizer(Tokenizer):
    """Tokens by jieba, in a separate instance that no other code can change.

    The dictionary is parsed once per process (a fraction of a second). Jieba's cache in the shared temporary folder is
    not used.
    """

    kind: ClassVar[str] = "jieba"
    spec_class: ClassVar[type[KindSpec]] = JiebaSpec

    spec: JiebaSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._cut: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cut": None}

    def fingerprint(self) -> Mapping[str, str]:
        """The version of jieba whose tokens are made, and checksums of the recipe's own words.

        Which package cuts is not part of it. All make the same tokens: checksums of the dictionary and the model, and a
        trial of the compiled code, are checked when it is opened. So all machines share their results.
        """
        known = {"jieba": JIEBA}
        if self.spec.user_dictionary is not None:
            content = "\n".join(f"{word} {count}" for word, count in _user_words(self.spec.user_dictionary.file))
            known["user_dictionary"] = hashlib.sha256(content.encode()).hexdigest()
        if self.spec.words is not None:
            known["words"] = hashlib.sha256("\n".join(_listed(self.spec.words.file)).encode()).hexdigest()
        return known

    def open(self) -> None:
        """Load the dictionaries; InstallationError if the compiled package is requested and cannot be used."""
        if self._cut is None:
            self._cut = _cut(self._own(), self.spec.hmm, self.spec.implementation)

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order; joined, they are the text."""
        self.open()
        return list(self._cut(text))

    def _own(self) -> OwnWords:
        """The words of the recipe; the user dictionary takes precedence over the word list."""
        own = [] if self.spec.user_dictionary is None else _user_words(self.spec.user_dictionary.file)
        known = {word for word, _ in own}
        listed = [] if self.spec.words is None else _listed(self.spec.words.file)
        return (*own, *((word, None) for word in listed if word not in known))


@lru_cache(maxsize=4)
def _cut(own_words: OwnWords, hmm: bool, implementation: Implementation) -> Callable[[str], tuple[str, ...]]:
    """Make the function that cuts by the dictionary and `own_words`.

    It caches short texts, as the answers of every model are compared with the same sentences.
    """
    cut = _choose_implementation(own_words, hmm, implementation)

    def tokens(text: str) -> tuple[str, ...]:
        return tuple(cut(text))

    kept = lru_cache(maxsize=_CACHE_SIZE)(tokens)
    return lambda text: (kept if len(text) <= _SHORT else tokens)(text)


def _choose_implementation(own_words: OwnWords, hmm: bool, implementation: Implementation) -> CutFunction:
    compiled = None if implementation == "pure" else compiled_cut(own_words, hmm)
    if compiled is None and implementation == "compiled":
        raise InstallationError(
            "the compiled tokenizer cannot be used here",
            where="tokenizer.implementation",
            why="jieba-next is not installed, cuts otherwise than jieba, or cannot hold the words of the recipe",
            next="pip install jieba-next, or set tokenizer.implementation to auto",
        )
    if compiled is not None:
        return compiled
    is_pure = implementation == "pure" or is_jieba_installed()
    return (_pure_cut if is_pure else interpreted_cut)(own_words, hmm)


@cache
def _dictionary() -> tuple[dict[str, int], int]:
    """jieba's words and their prefixes, in the form of its own code."""
    blank = jieba_module().Tokenizer()
    return blank.gen_pfdict(blank.get_dict_file())


def _pure_cut(own_words: OwnWords, hmm: bool) -> CutFunction:
    """Cut with jieba itself."""
    frequencies, total = _dictionary()
    tokenizer = jieba_module().Tokenizer()
    tokenizer.FREQ, tokenizer.total, tokenizer.initialized = frequencies, total, True
    if own_words:
        tokenizer.FREQ = dict(frequencies)
        for word, count in own_words:
            tokenizer.add_word(word, count)
    return lambda text: tokenizer.lcut(text, HMM=hmm)


def _listed(path: Path) -> list[str]:
    """The words of the list that can be tokens; jieba never makes words with white space or punctuation."""
    return [word for word in load_words(path) if may_be_a_word(word)]


def _user_words(path: Path) -> list[tuple[str, int | None]]:
    try:
        text = read_given_text(path, "utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "the user dictionary cannot be read",
            where=str(path),
            why=str(error),
            next="check tokenizer.user_dictionary in the recipe: a UTF-8 file with one word per line",
        ) from error
    words: list[tuple[str, int | None]] = []
    for number, line in enumerate(text.splitlines(), 1):
        word, *rest = line.split()[:2] or [""]
        if rest and (not rest[0].isdecimal() or int(rest[0]) < 1):
            raise DataError(
                "the user dictionary has an invalid line",
                where=f"{path}:{number}",
                why=f"{rest[0]!r} is not a frequency of 1 or more",
                next="write one word per line, optionally with its frequency",
            )
        if word:
            words.append((word, int(rest[0]) if rest else None))
    return words
