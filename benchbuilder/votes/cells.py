"""Cells of sheets: text that no spreadsheet takes for a formula, and what people write for 0 and 1."""

from __future__ import annotations

import re
import unicodedata

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
CLOSED = "—"
"""Stands in a cell that nobody is to fill."""

_BLANK = re.compile(r"[\x00-\x20\N{REPLACEMENT CHARACTER}]+")
_EMPTY = {"", CLOSED, "–", "-", "'-"}
_VALUES = {"0": 0, "0.0": 0, "1": 1, "1.0": 1}


def escape(text: str) -> str:
    """`text` with an apostrophe before it where a spreadsheet could take it for a formula.

    >>> escape("=1+1"), escape("plain")
    ("'=1+1", 'plain')
    """
    return "'" + text if text.startswith((*FORMULA_STARTS, "'")) else text


def unescape(text: str) -> str:
    """The inverse of `escape`; text that `escape` would not have made comes back as it is."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*FORMULA_STARTS, "'")) else text


def folded(cell: str) -> str:
    """The text of a cell as read, every run of white space and of what XLSX cannot hold made one space.

    >>> folded(" '=1 +\\r\\n1 ")
    '=1 + 1'
    """
    return " ".join(_BLANK.sub(" ", unescape(cell.strip())).split())


def judgement(text: str) -> int | None:
    """0, 1, or ``None`` for an empty or closed cell; ValueError for anything else. Full-width digits count."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if plain in _EMPTY or text.strip() in _EMPTY:
        return None
    if plain not in _VALUES:
        raise ValueError(text)
    return _VALUES[plain]
