"""Cells of delimited text that survive spreadsheets and line-wise tools, and come back as they were."""

from __future__ import annotations

import re

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_ORIGINALS = {escaped: original for original, escaped in _ESCAPES.items()}
_PLAIN = str.maketrans(_ESCAPES)
FORMULA_STARTS = (*"=+-@'", *"＝＋－＠")
"""What a cell that a spreadsheet could read as a formula begins with, or one that hides that."""


def escape_cell(text: str) -> str:
    r"""`text` as one cell on one line.

    Backslash, tab, line feed and carriage return are written as ``\\``, ``\t``, ``\n`` and ``\r``. A cell that a
    spreadsheet could read as a formula (it begins with ``=``, ``+``, ``-`` or ``@``, of either width) gets an
    apostrophe in front, and so does one that begins with an apostrophe: `unescape_cell` gives back exactly what was
    there.

    >>> escape_cell("=1+1"), escape_cell("two\nlines")
    ("'=1+1", 'two\\nlines')
    """
    escaped = text.translate(_PLAIN)
    return f"'{escaped}" if escaped.startswith(FORMULA_STARTS) else escaped


def unescape_cell(cell: str) -> str:
    r"""The text that `escape_cell` made `cell` of.

    >>> unescape_cell(escape_cell("-3 ℃\t(at night)"))
    '-3 ℃\t(at night)'
    """
    bare = cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell
    return re.sub(r"\\[\\tnr]", lambda match: _ORIGINALS[match.group()], bare)
