"""One form for what looks the same: white space, widths, composed characters; conversion between Chinese scripts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

Fold = Literal["case", "marks"]
"""What comparisons of words ignore: capitals, or the marks on letters (tones, vowel signs, accents)."""

_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x066B: ord("."), 0x066C: ord(",")}
_DIGIT = re.compile(r"(?![0-9])\d")


def normalise_space(text: str) -> str:
    """`text` with every run of white space (ideographic, no-break and line breaks too) as one space, none at the ends.

    >>> normalise_space(" a\\u3000\\u3000b ")
    'a b'
    """
    return " ".join(text.split())


def to_half_width(text: str) -> str:
    """`text` with full-width ASCII characters in half width, and the digits, point and comma of every script in ASCII.

    The length stays the same.

    >>> to_half_width("Ａ１（"), to_half_width("\u0662\u066b\u0665")
    ('A1(', '2.5')
    """
    if text.isascii():
        return text
    return _DIGIT.sub(lambda match: str(unicodedata.decimal(match[0])), text.translate(_NARROW))


_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",
    "aeopcyxsijABEKMHOPCTYXSIJovABEZHIKMNOPTYX",
)
"""Letters of Cyrillic and Greek, each with the Latin one that it looks like (Unicode, confusables.txt)."""
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")


def fold_lookalikes(text: str) -> str:
    """`text` with Latin letters for those of Cyrillic and Greek that look like them, in words that have Latin letters.

    >>> fold_lookalikes("P\u0430ris"), fold_lookalikes("\u043d\u043e\u0441") == "\u043d\u043e\u0441"
    ('Paris', True)
    """
    if text.isascii():
        return text
    return _WORD.sub(lambda word: word[0].translate(_LOOKALIKES) if _LATIN.search(word[0]) else word[0], text)


def compose_characters(text: str) -> str:
    """`text` in normal form C: letters with combining marks as one character where there is one.

    >>> len(compose_characters("e\\u0301"))
    1
    """
    return unicodedata.normalize("NFC", text)


def fold_text(text: str, fold: Collection[Fold]) -> str:
    """`text` composed, and without what `fold` names. In scripts whose vowels are marks, ``marks`` removes them.

    >>> fold_text("\u00c9te\u0301", ["case"]) == "\u00e9t\u00e9", fold_text("\u00c9t\u00e9", ["case", "marks"])
    (True, 'ete')
    """
    if "case" in fold:
        text = text.casefold()
    if "marks" in fold:
        apart = unicodedata.normalize("NFD", text)
        text = "".join(mark for mark in apart if not unicodedata.combining(mark) and unicodedata.category(mark) != "Mn")
    return compose_characters(text)


_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")


def drop_hidden(text: str) -> str:
    """`text` without characters that nobody sees and that spell nothing: soft hyphens, zero-width spaces, directions.

    >>> drop_hidden("nife\u00addi\u200bpine")
    'nifedipine'
    """
    return text if text.isascii() else _HIDDEN.sub("", text)


def comparison_form(text: str) -> str:
    """The form in which two answers count as the same: composed, half width, no white space, no case, nothing hidden.

    A letter that looks like one of the script of its word is that one.

    >>> comparison_form("Ａ b") == comparison_form("aB\u00ad")
    True
    """
    if not text.isascii():
        text = fold_lookalikes(to_half_width(compose_characters(drop_hidden(text))))
    return "".join(text.split()).casefold()


Conversion = Literal["t2s", "tw2s", "tw2sp", "hk2s", "s2t", "s2tw", "s2twp", "s2hk", "t2tw", "t2hk", "tw2t", "hk2t"]
"""The configurations of OpenCC that a recipe may name; ``t2s`` is traditional to simplified."""


@cache
def _converter(conversion: str) -> Any:
    from opencc import OpenCC

    return OpenCC(conversion)


def convert_script(text: str, conversion: Conversion) -> str:
    """`text` in the target script of `conversion`.

    >>> ascii(convert_script("\\u6f22", "t2s"))
    "'\\\\u6c49'"
    """
    return _converter(conversion).convert(text)


def script_version() -> str:
    """The version of OpenCC, as its dictionaries affect the result."""
    return version("opencc")
