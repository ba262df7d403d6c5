"""Finds jieba's dictionary and its model of unknown words, in jieba-next or in jieba itself."""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from struct import pack
from typing import Any

from xxhash import xxh3_128_hexdigest

from benchbuilder.core import InstallationError, extra_advice, imports_of, is_installed

JIEBA = "0.42.1"
"""The version of jieba whose tokens are made, with or without jieba itself; keys of steps name it."""
_DICTIONARY = "057963fa0253c39e2270ae757ed7d697"
_MODEL = "8eb2abb6b69f013ed2e37e3aad54b67c"
_PACKAGES = ("jieba_next", "jieba")

_NEVER = -3.14e100
UNSEEN = (_NEVER,) * 4
"""The log probabilities of a character that the model does not know."""
_NAMES = "BMES"
_STEPS = ("EB", "SB", "BM", "MM", "BE", "ME", "ES", "SS")


def is_jieba_installed() -> bool:
    """Whether jieba itself is installed, not only its data."""
    return is_installed("jieba")


@cache
def jieba_module() -> Any:
    """Import jieba itself, without the warnings of its source and without its log lines.

    Raises:
        InstallationError: It is not installed.
    """
    instead = "set tokenizer.implementation to auto: the compiled one makes the same tokens"
    with imports_of("jieba", "the implementation `pure`", where="tokenizer.implementation", instead=instead):
        module = _imported("jieba")
    module.setLogLevel(logging.WARNING)
    return module


def dictionary_text() -> str:
    """jieba's dictionary: lines of a word, its frequency and its part of speech.

    Raises:
        InstallationError: No installed package has this dictionary.
    """
    for folder in _folders():
        file = folder / "dict.txt"
        data = file.read_bytes() if file.is_file() else b""
        if xxh3_128_hexdigest(data) == _DICTIONARY:
            return data.decode()
    raise _missing("dictionary")


@cache
def unknown_words_model() -> tuple[tuple[float, ...], tuple[float, ...], Mapping[str, tuple[float, ...]]]:
    """Log probabilities: of each start state, of eight transitions, and of each character in each state.

    The states are begin, middle, end, single. The transitions are end or single to begin, begin or middle to middle,
    begin or middle to end, end or single to single.

    Raises:
        InstallationError: No installed package has this model.
    """
    for folder in _folders():
        model = _imported(f"{folder.name}.finalseg")
        tables: list[Mapping[str, float]] = [model.emit_P[name] for name in _NAMES]
        shown = dict.fromkeys(character for table in tables for character in table)
        characters = {character: tuple([table.get(character, _NEVER) for table in tables]) for character in shown}
        flat = [value for values in characters.values() for value in values]
        if xxh3_128_hexdigest("".join(shown).encode() + pack(f"<{len(flat)}d", *flat)) == _MODEL:
            start = tuple(model.start_P[name] for name in _NAMES)
            return start, tuple(model.trans_P[before][after] for before, after in _STEPS), characters
    raise _missing("model of unknown words")


def _folders() -> Iterator[Path]:
    for package in _PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parent


def _imported(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def _missing(what: str) -> InstallationError:
    return InstallationError(
        f"the tokenizer jieba has no {what}",
        where="tokenizer",
        why=f"neither jieba-next nor jieba is installed, or it does not have the {what} of jieba {JIEBA}",
        next=extra_advice("jieba"),
    )
