"""Cells of sheets: text that no spreadsheet takes for a formula, and what people answer in them."""

from __future__ import annotations

import re
import unicodedata

from benchbuilder.annotation.base import Value
from benchbuilder.annotation.values import parse_value
from benchbuilder.config import GuidingQuestion

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
CLOSED_CELL = "—"
"""Stands in a cell that nobody is to fill."""

_BLANK = re.compile(r"[\x00-\x20\N{REPLACEMENT CHARACTER}]+")
_EMPTY = {"", CLOSED_CELL, "–", "-", "'-"}


def escape_formula(text: str) -> str:
    """`text` with an apostrophe before it where a spreadsheet could take it for a formula.

    >>> escape_formula("=1+1"), escape_formula("plain")
    ("'=1+1", 'plain')
    """
    return "'" + text if text.startswith((*FORMULA_STARTS, "'")) else text


def unescape_formula(text: str) -> str:
    """The inverse of `escape_formula`; text that `escape_formula` would not have made comes back as it is."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*FORMULA_STARTS, "'")) else text


def fold_whitespace(cell: str) -> str:
    """The text of a cell as read, every run of white space and of what XLSX cannot hold made one space.

    >>> fold_whitespace(" '=1 +\\r\\n1 ")
    '=1 + 1'
    """
    return " ".join(_BLANK.sub(" ", unescape_formula(cell.strip())).split())


def parse_answer_cell(question: GuidingQuestion, text: str) -> Value | None:
    """What a cell answers to `question`; ``None`` if it is empty or closed. ValueError says what is allowed."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if plain in _EMPTY or text.strip() in _EMPTY:
        return None
    return parse_value(question, unescape_formula(text.strip()) if question.answer == "text" else text)
