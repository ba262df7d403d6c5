"""Lines of printed pages: without what stands on every page, joined to paragraphs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_NEAR = 6
_ENOUGH = 3
_DEEPEST = 2
_NUMBER = re.compile(r"\W*\d+\W*|\W*[ivxlc]+\W*$", re.IGNORECASE)
_SHORT = 0.75
_HYPHENS = "-\u2010\u00ad"
_NEW = re.compile(r"\s*(?:[\u2022\u25aa\u25cf\u25a0\u2023\u2013*-]\s|\(?\d+(?:\.\d+)*[.)\u3001]\s?\D)")


def without_running_lines(pages: Sequence[Sequence[str]]) -> tuple[list[list[str]], int]:
    """The lines of each page without running heads, running feet and page numbers, and how many these were.

    A first line counts as one if at least three of the six pages before and the six behind it begin with the same
    line, a number at its start or end aside; a last line, if as many end with it. Behind such a line the next one is
    looked at in the same way.
    """
    left = [[line.strip() for line in page if line.strip()] for page in pages]
    total = sum(map(len, left))
    for end in (0, -1):
        looked_at = range(len(left))
        for _ in range(_DEEPEST):
            edges = [_form(page[end]) if page else "" for page in left]
            looked_at = [at for at in looked_at if _repeats(edges, at)]
            for at in looked_at:
                del left[at][end]
    return left, total - sum(map(len, left))


def _form(line: str) -> str:
    """A line without the page number that it begins or ends with."""
    if _NUMBER.fullmatch(line):
        return "#"
    return line.strip("0123456789-\u2013\u2014|. \t").casefold()


def _repeats(edges: Sequence[str], at: int) -> bool:
    near = [*edges[max(0, at - _NEAR) : at], *edges[at + 1 : at + 1 + _NEAR]]
    return bool(edges[at]) and near.count(edges[at]) >= _ENOUGH


def paragraphs(lines: Sequence[str], join_hyphens: bool) -> str:
    """The lines of a page as paragraphs, one a line.

    A line goes on in the next one unless it is much shorter than the others of the page, or the next begins as an item
    of a list. A word that is parted by a hyphen becomes one with `join_hyphens`, if it goes on in a small letter.
    """
    widths = sorted(_width(line) for line in lines)
    full = widths[int(0.9 * (len(widths) - 1))] if widths else 0
    found: list[str] = []
    open_line = False
    for line in lines:
        if open_line and not _NEW.match(line):
            found[-1] = _join_lines(found[-1], line, join_hyphens)
        else:
            found.append(line)
        open_line = _width(line) >= _SHORT * full
    return "\n".join(found).replace("\u00ad", "")


def _width(line: str) -> int:
    """How wide a line is: wide characters count twice."""
    return sum(2 if _is_wide(letter) else 1 for letter in line)


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def _join_lines(first: str, second: str, join_hyphens: bool) -> str:
    if join_hyphens and len(first) > 1 and first[-1] in _HYPHENS and first[-2].isalpha() and second[:1].islower():
        return first[:-1] + second
    if _is_wide(first[-1]) or _is_wide(second[0]):
        return first + second
    return f"{first} {second}"
