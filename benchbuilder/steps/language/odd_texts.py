"""What a text of a model must not hold: markup, and characters that belong to no text."""

from __future__ import annotations

import re
import unicodedata

from benchbuilder.core import is_spelling_mark

_TAG = re.compile(r"<[/!]?[A-Za-z][^<>]*>")

_ODD = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def has_markup(text: str) -> bool:
    """Whether `text` contains a tag, or marks of bold print.

    >>> has_markup("so <b>bold</b>"), has_markup("P<0.05"), has_markup("it is **not** so")
    (True, False, True)
    """
    return bool(_TAG.search(text)) or "**" in text or "`" in text


def odd_characters(text: str) -> str:
    """The invisible and controlling characters of `text`, as code points.

    Line feeds are allowed, and joiners and marks of direction that are part of the spelling.

    >>> odd_characters("it is\\x1b[2J"), odd_characters("one\\ntwo")
    ('U+001B', '')
    """
    odd = {
        mark
        for at, mark in enumerate(text)
        if mark != "\n" and unicodedata.category(mark) in _ODD and not is_spelling_mark(text, at)
    }
    return " ".join(f"U+{ord(mark):04X}" for mark in sorted(odd))
