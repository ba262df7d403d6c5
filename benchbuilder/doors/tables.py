"""Plain tables of text as CSV and XLSX: XLSX equal from run to run, CSV read as spreadsheet programs save it."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

_EPOCH = datetime(2000, 1, 1)
_STAMP = (1980, 1, 1, 0, 0, 0)
_DELIMITERS = (",", ";", "\t")
_LARGEST_FIELD = 2**27


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
    return _without_dates(stream.getvalue())


def _without_dates(data: bytes) -> bytes:
    """The same archive without the moment of its making."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>2000-01-01T00:00:00Z", content)
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            new.writestr(info, content)
    return stream.getvalue()


def csv_lines(data: bytes, fits: Callable[[Sequence[str]], bool]) -> list[list[str]] | None:
    """The cells of a CSV whose header `fits`, whatever its delimiter; ``None`` if it cannot be read at all."""
    encodings = ("utf-16",) if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ("utf-8-sig", "gb18030")
    text = next((text for encoding in encodings if (text := _decoded(data, encoding)) is not None), None)
    if text is None:
        return None
    parsed: list[list[list[str]]] = []
    before = csv.field_size_limit(_LARGEST_FIELD)
    try:
        for delimiter in _DELIMITERS:
            try:
                parsed.append(list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)))
            except csv.Error:
                continue
            if parsed[-1] and fits(parsed[-1][0]):
                return parsed[-1]
    finally:
        csv.field_size_limit(before)
    return parsed[0] if parsed else None


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None
