"""Writes sheets as XLSX, byte-identical from run to run, and reads untrusted XLSX safely."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
import unicodedata
import warnings
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import IO, Any

from benchbuilder.annotation.sheets.sheets import (
    CLOSED_CELL,
    AnnotationColumn,
    SheetLabels,
    SheetRow,
    escape_formula,
    guide_lines,
    sheet_grid,
)
from benchbuilder.annotation.sheets.shown_cells import cell_value_text, number_format, shown_text
from benchbuilder.annotation.sheets.workbook_support import (
    NoSuchWorksheetError,
    UnreadableWorkbookError,
    check_archive,
    temporary_folder_in_errors,
)
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import imports_of, open_given_file

with imports_of("xlsx", "the format XLSX", instead="use CSV"):
    from openpyxl import Workbook, load_workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, Cell
    from openpyxl.styles import Alignment, Font, NamedStyle, PatternFill, Protection
    from openpyxl.utils import get_column_letter
    from openpyxl.utils.exceptions import InvalidFileException
    from openpyxl.worksheet._reader import WorkSheetParser
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet
    from openpyxl.worksheet.datavalidation import DataValidation
    from openpyxl.worksheet.properties import PageSetupProperties
    from openpyxl.worksheet.worksheet import Worksheet
    from openpyxl.writer.excel import ExcelWriter

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?", re.ASCII)
_EPOCH = datetime(2000, 1, 1)
_ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)
_LINE_POINTS = 15.0
_MAX_COLUMNS = 100
_HIDDEN = {"annotator", "key"}
_PIECE_BYTES = 2**20
_HELD_BYTES = 2**24
"""A smaller workbook needs no temporary file."""
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")
_DAMAGES = (InvalidFileException, zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, SyntaxError)
"""What openpyxl raises for files that are damaged."""


def workbook_bytes(
    layout: Sequence[AnnotationColumn], rows: Sequence[SheetRow], spec: AnnotationSpec, labels: SheetLabels
) -> bytes:
    """A workbook with the sheet to fill in and a sheet with the guiding questions in full."""
    book = Workbook()
    for style in _styles():
        book.add_named_style(style)
    sheet = book.active
    if not isinstance(sheet, Worksheet):
        raise TypeError("a new workbook has a worksheet")
    sheet.title = labels.sheet
    _fill_sheet(sheet, layout, rows, spec)
    _fill_guide(book.create_sheet(labels.guide), layout, spec, labels)
    stream = io.BytesIO()
    _save(book, stream)
    return stream.getvalue()


def _save(book: Workbook, file: IO[bytes]) -> None:
    book.properties.creator, book.properties.created = "benchbuilder", _EPOCH
    with tempfile.SpooledTemporaryFile(max_size=_HELD_BYTES) as dated:
        # it is compressed without its dates
        with temporary_folder_in_errors(), zipfile.ZipFile(dated, "w", zipfile.ZIP_STORED) as archive:
            ExcelWriter(book, archive).save()
        _copy_without_dates(dated, file)


def _styles() -> list[NamedStyle]:
    top = Alignment(wrap_text=True, vertical="top")
    middle = Alignment(horizontal="center", vertical="top")
    return [
        NamedStyle("head", font=Font(bold=True, color="FFFFFF"), fill=PatternFill("solid", fgColor="1F4E78"),
                   alignment=Alignment(wrap_text=True, vertical="center")),
        NamedStyle("claim", font=Font(bold=True), fill=PatternFill("solid", fgColor="DDEBF7"), alignment=top),
        NamedStyle("paragraph", alignment=Alignment(wrap_text=True, vertical="top", indent=2)),
        NamedStyle("open", fill=PatternFill("solid", fgColor="FFF2CC"), alignment=middle,
                   protection=Protection(locked=False)),
        NamedStyle("closed", font=Font(color="A6A6A6"), fill=PatternFill("solid", fgColor="EDEDED"),
                   alignment=middle),
        NamedStyle("free", alignment=top, protection=Protection(locked=False)),
    ]  # fmt: skip


def _fill_sheet(
    sheet: Worksheet, layout: Sequence[AnnotationColumn], rows: Sequence[SheetRow], spec: AnnotationSpec
) -> None:
    lines, styles = sheet_grid(layout, rows), dict[str, Cell]()
    for number, line in enumerate(lines, start=1):
        row = rows[number - 2] if number > 1 else None
        for index, (column, text) in enumerate(zip(layout, line, strict=True), start=1):
            _write_cell(sheet, number, index, text, _style(column, text, row), styles)
        sheet.row_dimensions[number].height = _height(layout, line) if row else 4 * _LINE_POINTS
    for index, column in enumerate(layout, start=1):
        dimension = sheet.column_dimensions[get_column_letter(index)]
        dimension.width, dimension.hidden = column.width, column.marker in _HIDDEN
    sheet.freeze_panes = "C2"
    _allow_only_answers(sheet, layout, len(lines), spec)
    sheet.protection.sheet = True
    sheet.protection.formatColumns = sheet.protection.formatRows = sheet.protection.formatCells = False
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    sheet.print_title_rows = "1:1"


def _write_cell(sheet: Worksheet, row: int, column: int, text: str, style: str, styles: dict[str, Cell]) -> None:
    """Write a cell; `styles` has a cell of each style, as a style is costly to find by its name."""
    if not text and style not in {"open", "closed", "free", "claim"}:
        return
    cell = sheet.cell(row, column)
    if not isinstance(cell, Cell):
        raise TypeError("no cells are merged here")
    if style in styles:
        cell._style = styles[style]._style  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    else:
        cell.style = style
        styles[style] = cell
    if style == "open" and _NUMBER.fullmatch(text):
        cell.value = float(text) if "." in text else int(text)
    elif text:
        cell.value = ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", text)
        cell.data_type = "s"


def _style(column: AnnotationColumn, text: str, row: SheetRow | None) -> str:
    if row is None:
        return "head"
    if column.marker.startswith("q:"):
        return "closed" if text == CLOSED_CELL else "open"
    if column.marker == "note":
        return "free"
    return "claim" if row.is_whole else "paragraph"


def _allow_only_answers(sheet: Worksheet, layout: Sequence[AnnotationColumn], last: int, spec: AnnotationSpec) -> None:
    """Add validation rules so that cells accept only allowed answers, as far as spreadsheets can check."""
    if last < 2:
        return
    rules: dict[str, DataValidation] = {}
    for index, column in enumerate(layout, start=1):
        if not column.marker.startswith("q:"):
            continue
        question = spec.questions_about()[column.marker.split(":")[1]]
        if question.answer == "text":
            continue
        letter = get_column_letter(index)
        rule = _rule(question)
        rules.setdefault(rule.errorTitle or "", rule).add(f"{letter}2:{letter}{last}")
    for rule in rules.values():
        sheet.add_data_validation(rule)


def _rule(question: GuidingQuestion) -> DataValidation:
    if question.answer == "scalar":
        rule = DataValidation(type="decimal", operator="between", formula1="0", formula2="1", allow_blank=True)
        allowed = "0 – 1"
    else:
        values = [str(value) for value in sorted(question.options or {0: "", 1: ""}, reverse=True)]
        rule = DataValidation(type="list", formula1=f'"{",".join(values)}"', allow_blank=True)
        allowed = " / ".join(reversed(values))
    rule.showErrorMessage = True
    rule.errorTitle = rule.error = allowed
    return rule


def _height(layout: Sequence[AnnotationColumn], line: Sequence[str]) -> float:
    """The height in points that shows all wrapped text of a row: not every program adjusts rows itself."""
    shown = [(column, text) for column, text in zip(layout, line, strict=True) if column.marker not in _HIDDEN]
    return min(409.0, _LINE_POINTS * max(_line_count(text, column.width) for column, text in shown) + 3)


def _line_count(text: str, width: int) -> int:
    return sum(1 + sum(map(_character_width, part)) // max(1, width - 4) for part in text.split("\n"))


@cache
def _character_width(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fill_guide(
    sheet: Worksheet, layout: Sequence[AnnotationColumn], spec: AnnotationSpec, labels: SheetLabels
) -> None:
    styles: dict[str, Cell] = {}
    for number, (name, text) in enumerate(guide_lines(layout, spec, labels), start=1):
        _write_cell(sheet, number, 1, escape_formula(name), "claim", styles)
        _write_cell(sheet, number, 2, escape_formula(text), "paragraph", styles)
        sheet.row_dimensions[number].height = _LINE_POINTS * max(_line_count(name, 24), _line_count(text, 96)) + 3
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 24, 96
    sheet.protection.sheet = True


def strip_archive_dates(data: bytes) -> bytes:
    """The archive without its time stamps."""
    stream = io.BytesIO()
    _copy_without_dates(io.BytesIO(data), stream)
    return stream.getvalue()


def _copy_without_dates(archive: IO[bytes], file: IO[bytes]) -> None:
    """Write the archive without its time stamps to `file`, a piece at a time."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist()):
            info = zipfile.ZipInfo(name, _ARCHIVE_DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            info.file_size = old.getinfo(name).file_size
            with old.open(name) as part, new.open(info, mode="w") as copy:
                if name == "docProps/core.xml":
                    copy.write(_MODIFIED.sub(rb"\g<1>2000-01-01T00:00:00Z", part.read()))
                else:
                    shutil.copyfileobj(part, copy, _PIECE_BYTES)


def read_workbook(data: bytes) -> dict[str, list[list[str]]]:
    """The cells of every worksheet as text, by sheet name.

    Raises:
        UnreadableWorkbookError: the file is damaged, not XLSX, or not safe to open.
    """
    with _open_workbook(io.BytesIO(data)) as book:
        return {sheet.title: _sheet_lines(sheet) for sheet in book.worksheets}


@contextmanager
def _open_workbook(file: IO[bytes], *, read_only: bool = False) -> Generator[Workbook]:
    check_archive(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, which do not affect values
            yield load_workbook(file, read_only=read_only, data_only=True)
    except _DAMAGES as error:
        raise UnreadableWorkbookError("it is damaged, or not an XLSX file") from error


def worksheet_names(path: Path) -> dict[str, bool]:
    """The worksheets of a file, and whether each can be seen; UnreadableWorkbookError as `open_worksheet` raises it."""
    with open_given_file(path, most_bytes=None) as file, _open_workbook(file, read_only=True) as book:
        return {sheet.title: sheet.sheet_state == "visible" for sheet in book.worksheets}


@contextmanager
def open_worksheet(path: Path, name: str = "") -> Generator[Iterator[list[str]]]:
    """The rows of the worksheet `name`, or of the first one, as texts; one row at a time is in memory.

    A cell is what a spreadsheet shows of it, or an `UnclearCell`.

    Raises:
        UnreadableWorkbookError: the file is damaged, not XLSX, or not safe to open, or has no such worksheet.
    """
    with open_given_file(path, most_bytes=None) as file, _open_workbook(file, read_only=True) as book:
        if name and name not in book.sheetnames:
            raise NoSuchWorksheetError(", ".join(book.sheetnames))
        yield _row_values(book[name] if name else book.worksheets[0], shown_text)


def first_sheet_lines(file: IO[bytes]) -> Iterator[list[str]]:
    """The cells of the first worksheet as `read_workbook` reads them; one row at a time is in memory.

    Each row has at least as many cells as the first one.

    Raises:
        UnreadableWorkbookError: the file is damaged, not XLSX, or not safe to open.
    """
    with _open_workbook(file, read_only=True) as book:
        width = 0
        for sheet in book.worksheets[:1]:
            for row in _row_values(sheet, lambda value, _: cell_value_text(value)):
                line = row[:_MAX_COLUMNS]
                width = width or len(line)
                yield line + [""] * (width - len(line))


def _row_values(sheet: Any, text_of: Callable[[Any, str], str]) -> Iterator[list[str]]:
    """The texts of a worksheet that is read in pieces, row by row, by their values and number formats.

    openpyxl leaves out rows and cells that are out of order there; they are refused here.
    """
    book, last = sheet.parent, 0
    with sheet._get_source() as source:
        parser = WorkSheetParser(
            source, sheet._shared_strings, data_only=True, epoch=book.epoch, date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )  # fmt: skip
        for number, cells in parser.parse():
            columns = [cell["column"] for cell in cells]
            if number <= last or columns != sorted(set(columns)) or any(cell["row"] != number for cell in cells):
                raise UnreadableWorkbookError(
                    f"in the sheet {sheet.title!r}, row {number} or its cells are out of order or there twice; "
                    "open the file in a spreadsheet program, and save it as XLSX"
                )
            yield from ([] for _ in range(last + 1, number))
            texts = [""] * max(columns, default=0)
            for cell in cells:
                if cell["value"] is not None:
                    shown = "error" if cell["data_type"] == "e" else number_format(book, cell["style_id"])
                    texts[cell["column"] - 1] = text_of(cell["value"], shown)
            yield texts
            last = number


def _sheet_lines(sheet: Worksheet) -> list[list[str]]:
    rows = sheet.iter_rows(max_col=min(sheet.max_column, _MAX_COLUMNS), values_only=True)
    return [[] if all(value is None for value in row) else [cell_value_text(value) for value in row] for row in rows]


def table_workbook_bytes(title: str, lines: Iterable[Sequence[str]], freeze: str = "A2") -> bytes:
    """A workbook as `write_table_workbook` writes it."""
    stream = io.BytesIO()
    write_table_workbook(stream, title, lines, freeze)
    return stream.getvalue()


def write_table_workbook(
    file: IO[bytes], title: str, lines: Iterable[Sequence[str | float]], freeze: str = "A2"
) -> None:
    """Write a workbook of one sheet with `lines`, the first its header. Cells are texts or numbers.

    Rows above and columns left of the cell `freeze` stay visible. Characters that XLSX cannot hold are replaced.
    """
    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    if not isinstance(sheet, WriteOnlyWorksheet):
        raise TypeError("a write-only workbook has write-only sheets")
    sheet.freeze_panes = freeze
    with temporary_folder_in_errors():
        try:
            _append_lines(sheet, lines)
        finally:
            sheet.close()  # else openpyxl complains when it is let go
    _save(book, file)


def _append_lines(sheet: WriteOnlyWorksheet, lines: Iterable[Sequence[str | float]]) -> None:
    bold = Font(bold=True)
    for number, line in enumerate(lines):
        cells: list[Any] = []
        for value in line:
            if not isinstance(value, str):
                cells.append(value)
                continue
            text = ILLEGAL_CHARACTERS_RE.sub("\N{REPLACEMENT CHARACTER}", value)
            if not number or text.startswith(("#", "=")):  # else read as errors and formulas
                cell = WriteOnlyCell(sheet, text)
                cell.data_type = "s"
                if not number:
                    cell.font = bold
                cells.append(cell)
            else:
                cells.append(text or None)
        sheet.append(cells)
