"""One form for what looks the same: white space, widths, composed characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Literal

Fold = Literal["case", "marks"]
"""What does not count when words are compared: capitals, or the marks on letters (tones, vowel signs, accents)."""

_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x066B: ord("."), 0x066C: ord(",")}
_DIGIT = re.compile(r"(?![0-9])\d")


def normalise_space(text: str) -> str:
    """`text` with every run of white space (ideographic, no-break and line breaks too) as one space, none at the ends.

    >>> normalise_space(" a\\u3000\\u3000b ")
    'a b'
    """
    return " ".join(text.split())


def to_half_width(text: str) -> str:
    """`text` with full-width forms of ASCII characters (letters, digits, marks) in half width, and with the digits of
    every script, their point and their comma as ASCII writes them. It stays as long as it is.

    >>> to_half_width("Ａ１（"), to_half_width("\u0662\u066b\u0665")
    ('A1(', '2.5')
    """
    if text.isascii():
        return text
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text.translate(_NARROW))


def compose_characters(text: str) -> str:
    """`text` in normal form C: letters with combining marks as one character where there is one.

    >>> len(compose_characters("e\\u0301"))
    1
    """
    return unicodedata.normalize("NFC", text)


NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""The normal forms of Unicode: letters and marks as one character or apart, compatibility forms kept (C, D) or not."""


def to_normal_form(text: str, form: NormalForm) -> str:
    """`text` in the normal form `form`.

    >>> [len(to_normal_form("e\u0301", form)) for form in ("NFC", "NFD")]
    [1, 2]
    """
    return unicodedata.normalize(form, text)


def fold_text(text: str, fold: Collection[Fold]) -> str:
    """`text` composed, and without what `fold` names. In scripts whose vowels are marks, ``marks`` takes them away.

    >>> fold_text("\u00c9te\u0301", ["case"]) == "\u00e9t\u00e9", fold_text("\u00c9t\u00e9", ["case", "marks"])
    (True, 'ete')
    """
    if "case" in fold:
        text = text.casefold()
    if "marks" in fold:
        apart = unicodedata.normalize("NFD", text)
        text = "".join(mark for mark in apart if not unicodedata.combining(mark) and unicodedata.category(mark) != "Mn")
    return compose_characters(text)


def comparison_form(text: str) -> str:
    """The form in which two answers count as the same: composed, half width, no white space, no case.

    >>> comparison_form("Ａ b") == comparison_form("aB")
    True
    """
    return "".join(to_half_width(compose_characters(text)).split()).casefold()
