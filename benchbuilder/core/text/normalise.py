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


def tidy_space(text: str) -> str:
    """`text` with every run of white space (ideographic, no-break and line breaks too) as one space, none at the ends.

    >>> tidy_space(" a\\u3000\\u3000b ")
    'a b'
    """
    return " ".join(text.split())


def narrow(text: str) -> str:
    """`text` with full-width forms of ASCII characters (letters, digits, marks) in half width, and with the digits of
    every script, their point and their comma as ASCII writes them. It stays as long as it is.

    >>> narrow("Ａ１（"), narrow("\u0662\u066b\u0665")
    ('A1(', '2.5')
    """
    if text.isascii():
        return text
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text.translate(_NARROW))


def compose(text: str) -> str:
    """`text` in normal form C: letters with combining marks as one character where there is one.

    >>> len(compose("e\\u0301"))
    1
    """
    return unicodedata.normalize("NFC", text)


NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""The normal forms of Unicode: letters and marks as one character or apart, compatibility forms kept (C, D) or not."""


def in_form(text: str, form: NormalForm) -> str:
    """`text` in the normal form `form`.

    >>> [len(in_form("e\u0301", form)) for form in ("NFC", "NFD")]
    [1, 2]
    """
    return unicodedata.normalize(form, text)


def folded(text: str, fold: Collection[Fold]) -> str:
    """`text` composed, and without what `fold` names. In scripts whose vowels are marks, ``marks`` takes them away.

    >>> folded("\u00c9te\u0301", ["case"]) == "\u00e9t\u00e9", folded("\u00c9t\u00e9", ["case", "marks"])
    (True, 'ete')
    """
    if "case" in fold:
        text = text.casefold()
    if "marks" in fold:
        apart = unicodedata.normalize("NFD", text)
        text = "".join(mark for mark in apart if not unicodedata.combining(mark) and unicodedata.category(mark) != "Mn")
    return compose(text)


def comparable(text: str) -> str:
    """The form in which two answers count as the same: composed, half width, no white space, no case.

    >>> comparable("Ａ b") == comparable("aB")
    True
    """
    return "".join(narrow(compose(text)).split()).casefold()
