"""Finds every mention of a name in a text, whatever its case or width, and puts something else in its place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import regex

_UNSPACED = "".join(
    rf"\p{{{script}}}"
    for script in ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Le")
)
"""Scripts that put no space between words."""
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]"
"""A letter or digit that belongs to a word with visible ends."""
_HYPHENS = "-\u2010\u2011\u2012\u2013\uff0d"
_APOSTROPHES = "'\u2019\u2018\u02bc\uff07`\u00b4"
_WIDE = 0xFEE0
"""From a character of ASCII to its full-width form."""


def mask_names(text: str, names: Sequence[str], mask: str, endings: Sequence[str] = ()) -> tuple[str, int]:
    """`text` with every mention of any of `names` replaced by `mask`, and how many mentions there were.

    The longest name that fits counts. Case and width of letters, the kind of apostrophe and the amount of white space
    do not matter, nor whether a hyphen stands there, white space, or nothing. In scripts with spaces between words a
    mention is a whole word or several, which may have one of `endings` more or less than the name; in the others it is
    found anywhere.

    >>> mask_names("Oaks and oak-like trees; Soak", ["Oak"], "[tree]", ["s"])
    ('[tree] and [tree]-like trees; Soak', 2)
    """
    pattern = _pattern(tuple(names), tuple(endings))
    if pattern is None:
        return text, 0
    parts: list[str] = pattern.split(text)
    return mask.join(parts), len(parts) - 1


@lru_cache(maxsize=1024)
def _pattern(names: tuple[str, ...], endings: tuple[str, ...]) -> Any:
    bare = {name.strip() for name in names if name.strip()}
    found = sorted(bare, key=lambda name: (-len(name), name))
    if not found:
        return None
    return regex.compile("|".join(_mention(name, endings) for name in found), regex.IGNORECASE | regex.V1)


def _mention(name: str, endings: tuple[str, ...]) -> str:
    """The pattern for one name."""
    before = rf"(?<!{_LETTER})" if _has_ends(name[0]) else ""
    after = rf"(?!{_LETTER})" if _has_ends(name[-1]) else ""
    stem, more = name, ""
    if endings and after:
        cut = next((end for end in endings if name.casefold().endswith(end) and len(name) - len(end) > 3), "")
        stem = name[: len(name) - len(cut)]
        more = "(?:" + "|".join(map(regex.escape, sorted(endings, key=len, reverse=True))) + ")?"
    return before + "".join(map(_character, regex.split(r"(\s+)", stem))) + more + after


def _character(part: str) -> str:
    """White space, or the characters of a word, each in any width; space may part letters of different scripts."""
    if part.isspace():
        return r"\s+"
    pattern, before = "", ""
    for at, mark in enumerate(part):
        if before and mark.isalnum() and before.isalnum() and _has_ends(mark) != _has_ends(before):
            pattern += r"\s*"
        within = mark in _HYPHENS and 0 < at < len(part) - 1
        pattern, before = pattern + (rf"(?:{_any_width(mark)}|\s+)?" if within else _any_width(mark)), mark
    return pattern


def _any_width(mark: str) -> str:
    if mark in _HYPHENS:
        return f"[{regex.escape(_HYPHENS)}]"
    if mark in _APOSTROPHES:
        return f"[{_APOSTROPHES}]"
    code = ord(mark)
    narrow, wide = (chr(code - _WIDE), mark) if 0xFF01 <= code <= 0xFF5E else (mark, chr(code + _WIDE))
    if not "!" <= narrow <= "~":
        return regex.escape(mark)
    return f"[{regex.escape(narrow)}{wide}]"


def _has_ends(mark: str) -> bool:
    """Whether words of the script of `mark` have visible ends."""
    return bool(regex.match(_LETTER, mark, regex.V1))
