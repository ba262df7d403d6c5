"""Rows of a worksheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchbuilder.annotation import UnreadableWorkbookError, read_workbook
from benchbuilder.sources.formats.delimited import RowCells, TableDialect, header_names, read_layout, select_columns
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow


def workbook_rows(
    path: Path, name: str, dialect: TableDialect, columns: Sequence[Column], sheet: str
) -> Iterator[RawRow]:
    """The rows of the worksheet `sheet` (or the first one) that are not empty, with their numbers in it.

    DataError if the file cannot be read, or has no such worksheet or column.
    """
    rows = _sheet_rows(path, name, dialect.key, sheet)
    yield from select_columns(rows, read_layout(rows, name, dialect, columns))


def workbook_names(path: Path, name: str, dialect: TableDialect, sheet: str) -> list[str]:
    """The names of the columns of the worksheet."""
    return header_names(_sheet_rows(path, name, dialect.key, sheet), name, dialect)


def _sheet_rows(path: Path, name: str, key: str, sheet: str) -> Iterator[RowCells]:
    try:
        sheets = read_workbook(path.read_bytes())
    except UnreadableWorkbookError as error:
        raise wrong_shape(key, name, expected="an XLSX file", found=str(error),
                          next="save it as XLSX, without a password") from error  # fmt: skip
    if sheet and sheet not in sheets:
        raise wrong_shape(
            key, name, expected=f"the worksheet {sheet!r}", found=f"the worksheets {', '.join(sheets)}",
            next="set sheet: to one of them",
        )  # fmt: skip
    lines = sheets[sheet] if sheet else next(iter(sheets.values()), [])
    width = max(map(len, lines), default=0)
    for number, cells in enumerate(lines, 1):
        if any(cells):
            yield RowCells(number, [*cells, *[""] * (width - len(cells))])
