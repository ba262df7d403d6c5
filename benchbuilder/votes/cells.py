"""Cells of sheets: text that no spreadsheet takes for a formula, and what people write for 0 and 1."""

from __future__ import annotations

import unicodedata

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
CLOSED = "—"
"""Stands in a cell that nobody is to fill."""

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


def judgement(text: str) -> int | None:
    """0, 1, or ``None`` for an empty or closed cell; ValueError for anything else. Full-width digits count."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if plain in _EMPTY or text.strip() in _EMPTY:
        return None
    if plain not in _VALUES:
        raise ValueError(text)
    return _VALUES[plain]
