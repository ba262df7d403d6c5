"""Texts that say nothing: white space, and characters that nobody sees."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Categories of Unicode without a glyph: controls, format characters (zero-width ones), separators."""
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Joiners, fillers and the empty Braille pattern: letters and marks by name, and nothing to see."""


def is_blank(text: str) -> bool:
    """Whether nobody would see anything of `text`."""
    return all(_unseen(character) for character in text)


def _unseen(character: str) -> bool:
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return selector or character in _FILLERS or unicodedata.category(character) in _UNSEEN
