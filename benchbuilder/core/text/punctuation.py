"""Marks at the ends of a text, and the case of its first letter."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files

from benchbuilder.core.text.patterns import Regex, find_all

_WRAPS = ("“”", "‘’", "「」", "『』", "«»", "‹›", "„“", "„”", '""', "''", "``", "**")


def strip_wrapping(text: str) -> str:
    """`text` without quotes, backquotes or asterisks around the whole of it, and without white space at both ends.

    >>> strip_wrapping("**“It is.”**"), strip_wrapping("“A” or “B”")
    ('It is.', '“A” or “B”')
    """
    text = text.strip()
    while len(text) > 2:
        pair = next((pair for pair in _WRAPS if text[0] == pair[0] and text[-1] == pair[1]), None)
        if pair is None or any(mark in text[1:-1].strip("*`") for mark in pair):
            return text
        text = text[1:-1].strip()
    return text


_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@cache
def case_letters(language: str) -> tuple[tuple[str, str], ...]:
    """Small letters with their capitals where the language of a tag differs from Unicode's default; usually none."""
    lines = files(__package__ or "").joinpath("case_letters.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return tuple((small, capital) for tag, small, capital in rows if tag == language.partition("-")[0])


class Casing:
    """Lowers the first letter of texts inside a sentence, and raises it at the beginning of one.

    The first letter stays if the first word, or its part before a hyphen, is one of `names`, or a pattern of `keep`
    matches the beginning of the text. A letter whose other case is longer or shorter stays. `letters` are pairs of a
    small letter and its capital that a language has besides those of Unicode. With `lowers` false, nothing is lowered.

    >>> casing = Casing(["Baker"], [r"\\p{Lu}\\p{Lu}"])
    >>> [casing.lower_first(text) for text in ("Iron", "Baker cyst", "DNA")], casing.raise_first("iron is")
    (['iron', 'Baker cyst', 'DNA'], 'Iron is')
    >>> Casing(letters=case_letters("tr")).raise_first("ilaç"), Casing(letters=case_letters("nl")).lower_first("IJzer")
    ('İlaç', 'ijzer')
    """

    def __init__(
        self,
        names: Collection[str] = (),
        keep: Sequence[Regex] = (),
        *,
        lowers: bool = True,
        letters: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._names, self._keep = frozenset(names), tuple(keep)
        self._lowers, self._letters = lowers, tuple(letters)

    def lower_first(self, text: str) -> str:
        """`text` for use inside a sentence."""
        if not self._lowers:
            return text
        for small, capital in self._letters:
            if text.startswith(capital):
                return text if self._stays(text) else small + text[len(capital) :]
        first = text[:1].lower()
        return text if len(first) != 1 or first == text[:1] or self._stays(text) else first + text[1:]

    def raise_first(self, text: str) -> str:
        """`text` for the beginning of a sentence; a first word with a capital inside stays."""
        first, word = text[:1].upper(), _WORD.match(text)
        inner = word is not None and word[0][1:] != word[0][1:].lower()
        for small, capital in () if inner else self._letters:
            if text.startswith(small):
                return capital + text[len(small) :]
        return text if len(first) != 1 or inner else first + text[1:]

    def _stays(self, text: str) -> bool:
        word = _WORD.match(text)
        if word is not None and not self._names.isdisjoint((word[0], word[0].partition("-")[0])):
            return True
        return any(span.start == 0 for pattern in self._keep for span in find_all(rf"\A(?:{pattern})", text))
