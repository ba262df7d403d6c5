"""Rows of a worksheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchbuilder.annotation import NoSuchWorksheetError, UnreadableWorkbookError
from benchbuilder.sources.formats.delimited import RowCells, TableDialect, header_names, read_layout, select_columns
from benchbuilder.sources.formats.files import import_library, wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow


def workbook_rows(
    path: Path, name: str, dialect: TableDialect, columns: Sequence[Column], sheet: str
) -> Iterator[RawRow]:
    """The rows of the worksheet `sheet` (or the first one) that are not empty, with their numbers in it.

    DataError if the file cannot be read, or has no such worksheet or column.
    """
    least = max((column + 1 for column in columns if isinstance(column, int)), default=0)
    rows = _sheet_rows(path, name, dialect, sheet, least)
    yield from select_columns(rows, read_layout(rows, name, dialect, columns))


def workbook_names(path: Path, name: str, dialect: TableDialect, sheet: str) -> list[str]:
    """The names of the columns of the worksheet."""
    return header_names(_sheet_rows(path, name, dialect, sheet), name, dialect)


def _sheet_rows(path: Path, name: str, dialect: TableDialect, sheet: str, least: int = 0) -> Iterator[RowCells]:
    """Rows of equal width: that of the first row, or `least`. A worksheet does not say where a row ends."""
    import_library("openpyxl", "xlsx", name)
    from benchbuilder.annotation import UnclearCell, open_worksheet

    try:
        with open_worksheet(path, sheet) as rows:
            width = 0
            for number, cells in enumerate(rows, 1):
                if any(cells):
                    width = width or max(_filled(cells), least, dialect.width or 0)
                    unclear = {place: cell.why for place, cell in enumerate(cells) if isinstance(cell, UnclearCell)}
                    yield RowCells(number, [*cells, *[""] * (width - len(cells))][:width], unclear=unclear)
    except UnreadableWorkbookError as error:
        raise wrong_shape(
            dialect.key, name, expected="an XLSX file", found=str(error), next="save it as XLSX, without a password"
        ) from error
    except NoSuchWorksheetError as error:
        raise wrong_shape(
            dialect.key, name, expected=f"the worksheet {sheet!r}", found=f"the worksheets {error}",
            next="set sheet: to one of them",
        ) from None  # fmt: skip


def _filled(cells: Sequence[str]) -> int:
    """The number of cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(cells, 1) if cell), default=0)
