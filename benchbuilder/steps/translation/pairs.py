"""A text and its translation, part by part, and how texts are compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex

from benchbuilder.config import CheckWords
from benchbuilder.core import chrf
from benchbuilder.steps.translation.figures import plain_text

OPTION = "option."
"""How the names of options begin; the rest is their place, from 1."""

_WORD = regex.compile(r"[\p{L}\p{M}]+(?:[-’'][\p{L}\p{M}]+)*")
_PRINT = re.compile(r"[A-Za-z]*[A-Z][A-Za-z]*\d*|[A-Za-z]{5,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")


class TextPart(NamedTuple):
    """A part of a text: its name, the original and the translation."""

    name: str
    source: str
    target: str


@dataclass(frozen=True)
class TextPair:
    """A text and its translation, by part: ``question``, ``option.1``. `back` is the translation translated back."""

    id: str
    source: Mapping[str, str]
    target: Mapping[str, str]
    back: Mapping[str, str] | None = None

    def parts(self) -> list[TextPart]:
        """The parts that both have, in the order of the original."""
        return [TextPart(name, text, self.target[name]) for name, text in self.source.items() if name in self.target]

    def parts_back(self) -> list[TextPart]:
        """The parts with their translations back in place of the translations; none without any."""
        back = self.back or {}
        return [TextPart(name, text, back[name]) for name, text in self.source.items() if back.get(name)]


def running(parts: Sequence[TextPart]) -> list[TextPart]:
    """The parts that are no options."""
    return [part for part in parts if not part.name.startswith(OPTION)]


def options(parts: Sequence[TextPart]) -> list[TextPart]:
    """The parts that are options."""
    return [part for part in parts if part.name.startswith(OPTION)]


def words_in(text: str) -> list[str]:
    """The words of `text` as they stand; in scripts without spaces, runs of letters."""
    return _WORD.findall(text)


def content(text: str, words: CheckWords) -> str:
    """The words and numbers of `text` that carry its meaning, without case."""
    text = plain_text(text)
    little = frozenset(words.function_words)
    return " ".join([*(word for word in words_in(text.casefold()) if word not in little), *_NUMBER.findall(text)])


def likeness(part: TextPart, words: CheckWords) -> float:
    """chrF of the content of a translation back against that of the original, from 0 to 1."""
    return chrf(content(part.target, words), content(part.source, words))


@lru_cache(maxsize=16_384)
def _grams(text: str, size: int = 4) -> Counter[str]:
    text = plain_text(text)
    text = " ".join([*words_in(text.casefold()), *_NUMBER.findall(text)])
    return Counter(text[at : at + size] for at in range(max(1, len(text) - size + 1)))


def shared_form(source: str, target: str) -> float:
    """How much two texts of different languages look alike, by runs of characters, numbers and names."""
    x, y = _grams(source), _grams(target)
    alike = 2 * (x & y).total() / max(1, x.total() + y.total())
    has_number = any(mark.isdigit() for mark in plain_text(source) + plain_text(target))
    return alike + 0.25 * (has_number and _prints(source) == _prints(target))


def _prints(text: str) -> set[str]:
    """What a translation keeps: numbers, abbreviations, names."""
    text = plain_text(text)
    return {*_NUMBER.findall(text), *(word.lower() for word in _PRINT.findall(text))}
