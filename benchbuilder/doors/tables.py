"""Plain tables of text as XLSX, equal from run to run."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from benchbuilder.votes.workbook import without_dates

_EPOCH = datetime(2000, 1, 1)


def table_bytes(title: str, lines: Sequence[Sequence[str]], numeric: Sequence[Sequence[bool]]) -> bytes:
    """A workbook of one sheet with `lines`, the first its header. Cells are text, those marked in `numeric` numbers."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

    book = Workbook(write_only=True)
    book.properties.creator = "benchbuilder"
    book.properties.created = _EPOCH
    sheet = book.create_sheet(title)
    if not isinstance(sheet, WriteOnlyWorksheet):
        raise TypeError("a write-only workbook has write-only sheets")
    sheet.freeze_panes = "A2"
    bold = Font(bold=True)
    for number, line in enumerate(lines):
        cells: list[Any] = []
        for text, is_number in zip(line, numeric[number], strict=True):
            if not number or text.startswith(("#", "=")):  # else taken for errors and formulas
                cell = WriteOnlyCell(sheet, text)
                cell.data_type = "s"
                if not number:
                    cell.font = bold
                cells.append(cell)
            else:
                cells.append(float(text) if is_number and text else text or None)
        sheet.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    return without_dates(stream.getvalue())
