"""Cells of sheets: escapes formula-like texts, and parses answers."""

from __future__ import annotations

import re
import unicodedata

from benchbuilder.annotation.base import Value
from benchbuilder.annotation.values import parse_value
from benchbuilder.config import GuidingQuestion

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
CLOSED_CELL = "—"
"""The content of a cell that must not be filled."""

_BLANK = re.compile(r"[\x00-\x20\N{REPLACEMENT CHARACTER}]+")
_EMPTY = {"", CLOSED_CELL, "–", "-", "'-"}


def escape_formula(text: str) -> str:
    """`text` with a leading apostrophe if a spreadsheet could read it as a formula.

    >>> escape_formula("=1+1"), escape_formula("plain")
    ("'=1+1", 'plain')
    """
    return "'" + text if text.startswith((*FORMULA_STARTS, "'")) else text


def unescape_formula(text: str) -> str:
    """The inverse of `escape_formula`; other texts are returned unchanged."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*FORMULA_STARTS, "'")) else text


def fold_whitespace(cell: str) -> str:
    """The text of a cell, with runs of white space and of characters that XLSX cannot hold as one space.

    >>> fold_whitespace(" '=1 +\\r\\n1 ")
    '=1 + 1'
    """
    return " ".join(_BLANK.sub(" ", unescape_formula(cell.strip())).split())


def parse_answer_cell(question: GuidingQuestion, text: str) -> Value | None:
    """Parse the answer in a cell; ``None`` if it is empty or closed. ValueError says what is allowed."""
    plain = unicodedata.normalize("NFKC", text).strip()
    if plain in _EMPTY or text.strip() in _EMPTY:
        return None
    return parse_value(question, unescape_formula(text.strip()) if question.answer == "text" else text)
