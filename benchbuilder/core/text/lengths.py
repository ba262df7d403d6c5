"""Lengths as people count them, and cuts that leave every character whole."""

from __future__ import annotations

from typing import Literal

import regex

LengthUnit = Literal["characters", "words"]
"""The unit of a length: visible characters (a letter with its marks is one), or words between white space."""

_GRAPHEME = regex.compile(r"\X")
_JOINING = regex.compile(r"[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Hangul_Syllable_Type=L}\r]")
"""Code points that join others into one character; without them, every code point is one character."""


def split_characters(text: str) -> list[str]:
    """`text` cut into visible characters: a letter stays with its marks.

    >>> [len(character) for character in split_characters("e\\u0301a")]
    [2, 1]
    """
    return _GRAPHEME.findall(text) if _JOINING.search(text) else list(text)


def text_length(text: str, unit: LengthUnit = "characters") -> int:
    """How long `text` is in `unit`.

    >>> text_length("e\\u0301t\\u00e9"), text_length("two  words", "words")
    (3, 2)
    """
    return len(text.split()) if unit == "words" else len(split_characters(text))


def truncate_text(text: str, most: int, unit: LengthUnit = "characters") -> str:
    """The beginning of `text`, at most `most` characters or words; no character is cut.

    >>> truncate_text("e\\u0301te\\u0301", 1) == "e\\u0301", truncate_text("two  words here", 2, "words")
    (True, 'two  words')
    """
    if most <= 0:
        return ""
    if unit == "characters":
        return text[:most] if not _JOINING.search(text) else "".join(split_characters(text)[:most])
    words = list(regex.finditer(r"\S+", text))
    return text if len(words) <= most else text[: words[most - 1].end()]


def truncate_code_points(text: str, most: int) -> str:
    """The beginning of `text`: at most `most` code points, fewer where the last character would lose its marks.

    >>> truncate_code_points("abc", 2), truncate_code_points("ae\u0301", 2)
    ('ab', 'a')
    """
    if len(text) <= most:
        return text
    at = most
    while at > 0 and _JOINING.search(text, max(0, at - 1), at + 1) and not _boundary(text, at):
        at -= 1
    return text[:at] if at or most <= 0 else text[:most]


def _boundary(text: str, index: int) -> bool:
    """Whether a character begins at `index`, judged by the few code points around it."""
    start = max(0, index - 32)
    ends, place = set[int](), start
    for character in _GRAPHEME.findall(text, start, index + 32):
        place += len(character)
        ends.add(place)
    return index in ends
