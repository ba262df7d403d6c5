"""Lengths as people count them, and cuts that leave every character whole."""

from __future__ import annotations

from typing import Literal

import regex

Unit = Literal["characters", "words"]
"""What a length is counted in: characters as they are seen (a letter with its marks is one), or what stands between
white space."""

_GRAPHEME = regex.compile(r"\X")
_JOINING = regex.compile(r"[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Hangul_Syllable_Type=L}\r]")
"""What makes one character of several code points; a text without it has as many of the one as of the other."""


def characters(text: str) -> list[str]:
    """`text` cut into what people see as one character each: a letter stays with its marks.

    >>> [len(character) for character in characters("e\\u0301a")]
    [2, 1]
    """
    return _GRAPHEME.findall(text) if _JOINING.search(text) else list(text)


def length(text: str, unit: Unit = "characters") -> int:
    """How long `text` is in `unit`.

    >>> length("e\\u0301t\\u00e9"), length("two  words", "words")
    (3, 2)
    """
    return len(text.split()) if unit == "words" else len(characters(text))


def longer(text: str, most: int) -> bool:
    """Whether `text` has more than `most` characters as people see them; of a long one only the beginning is counted.

    >>> longer("e\\u0301t\\u00e9", 2), longer("e\\u0301t\\u00e9", 3)
    (True, False)
    """
    if len(text) <= most:
        return False
    begin = text[: 2 * most + 1]  # what begins in it is one character or more of the whole text, too
    return length(begin) > most or (len(begin) < len(text) and length(text) > most)


def shortened(text: str, most: int, unit: Unit = "characters") -> str:
    """The beginning of `text`, at most `most` characters or words; no character is cut.

    >>> shortened("e\\u0301te\\u0301", 1) == "e\\u0301", shortened("two  words here", 2, "words")
    (True, 'two  words')
    """
    if most <= 0:
        return ""
    if unit == "characters":
        return text[:most] if not _JOINING.search(text) else "".join(characters(text)[:most])
    words = list(regex.finditer(r"\S+", text))
    return text if len(words) <= most else text[: words[most - 1].end()]


def cut(text: str, most: int) -> str:
    """The beginning of `text`: at most `most` code points, fewer where the last character would lose its marks.

    >>> cut("abc", 2), cut("ae\u0301", 2)
    ('ab', 'a')
    """
    if len(text) <= most:
        return text
    at = most
    while at > 0 and _JOINING.search(text, max(0, at - 1), at + 1) and not _boundary(text, at):
        at -= 1
    return text[:at] if at or most <= 0 else text[:most]


def _boundary(text: str, at: int) -> bool:
    """Whether a character begins at `at`, judged by the few code points around it."""
    start = max(0, at - 32)
    ends, place = set[int](), start
    for character in _GRAPHEME.findall(text, start, at + 32):
        place += len(character)
        ends.add(place)
    return at in ends
