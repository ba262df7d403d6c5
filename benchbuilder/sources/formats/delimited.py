"""Delimited text: rows of cells, with or without header, with or without quotation marks."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow, TextLine, encoding_advice, read_lines

_MAX_CELL_CHARS = 1 << 27


@dataclass(frozen=True)
class TableDialect:
    """How a delimited file is split into cells, from the line `first` on; `key` is its recipe key, for messages."""

    key: str
    encoding: str
    delimiter: str
    quoting: bool
    header: bool
    width: int | None
    first: int = 1


@dataclass(slots=True)
class RowCells:
    """The cells of a row, or the reason why it has none; `unclear` says why cells, by their places, are not used."""

    line: int
    cells: list[str]
    reason: str = ""
    detail: str = ""
    unclear: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True)
class ColumnLayout:
    """The positions of the requested columns in a row, and the number of columns of a row (at least `min_width`).

    A row that repeats the `header`, as in joined files, is no record.
    """

    places: Sequence[int]
    width: int | None
    header: Sequence[str] = ()

    @property
    def min_width(self) -> int:
        """The smallest number of columns with all requested ones."""
        return max(self.places, default=-1) + 1

    def is_header(self, cells: Sequence[str]) -> bool:
        """Whether a row is the header once more."""
        return [column_name(cell) for cell in cells if cell] == [cell for cell in self.header if cell]

    def width_problem(self, count: int) -> str:
        """The problem of a row of `count` columns, or ""."""
        if (self.width is None or count == self.width) and count >= self.min_width:
            return ""
        expected = str(self.width) if self.width is not None else f"at least {self.min_width}"
        return f"{count} columns, expected {expected}"


TABLES_VERSION = "2"
"""Changes whenever the same table would be read into other rows."""


def column_name(cell: str) -> str:
    """A cell of a header without blanks around it, and without the mark of UTF-8, which joined files repeat."""
    return cell.strip().removeprefix("\ufeff").strip()


def delimited_rows(path: Path, name: str, dialect: TableDialect, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows of a file. DataError if the header lacks a column; a row with another width is malformed."""
    rows = delimited_cells(path, dialect)
    yield from select_columns(rows, read_layout(rows, name, dialect, columns, path))


def delimited_names(path: Path, name: str, dialect: TableDialect) -> list[str]:
    """The names of the columns of a file; none without a header."""
    return header_names(delimited_cells(path, dialect), name, dialect, path)


def header_names(rows: Iterator[RowCells], name: str, dialect: TableDialect, path: Path | None = None) -> list[str]:
    """The names of the columns of `rows`, which come from the file `path`; none without a header."""
    return _header(name, dialect, next(rows, None), path) if dialect.header else []


def read_layout(
    rows: Iterator[RowCells], name: str, dialect: TableDialect, columns: Sequence[Column], path: Path | None = None
) -> ColumnLayout:
    """The layout of `rows`, after reading their header. DataError if the header lacks a column."""
    header = _header(name, dialect, next(rows, None), path) if dialect.header else None
    places = _column_places(name, dialect, columns, header)
    return ColumnLayout(places, dialect.width or (len(header) if header is not None else None), header or [])


def delimited_cells(path: Path, dialect: TableDialect) -> Iterator[RowCells]:
    """The cells of each row of a file, of its header, too."""
    if dialect.quoting:
        return _quoted_rows(path, dialect)
    return split_lines(table_lines(path, dialect), dialect.delimiter)


def table_lines(path: Path, dialect: TableDialect) -> Iterator[TextLine]:
    """The lines of the table in a file."""
    return islice(read_lines(path, dialect.encoding), dialect.first - 1, None)


def select_columns(rows: Iterable[RowCells], layout: ColumnLayout) -> Iterator[RawRow]:
    """The requested columns of each row, or its problem."""
    for row in rows:
        if row.reason:
            yield RawRow(row.line, (), row.reason, row.detail)
        elif wrong := layout.width_problem(len(row.cells)):
            yield RawRow(row.line, (), "malformed", wrong)
        elif layout.header and column_name(row.cells[0]) == layout.header[0] and layout.is_header(row.cells):
            yield RawRow(row.line, (), "malformed", "it repeats the names of the columns")
        elif row.unclear and (why := next((row.unclear[place] for place in layout.places if place in row.unclear), "")):
            yield RawRow(row.line, (), "malformed", f"a cell holds {why}")
        else:
            yield RawRow(row.line, [row.cells[place] for place in layout.places])


def _header(name: str, dialect: TableDialect, first: RowCells | None, path: Path | None = None) -> list[str]:
    if first is not None and first.reason:
        advice = "check delimiter and quoting in the recipe, or set header: false"
        if first.reason == "undecodable" and path is not None:
            advice = encoding_advice(path, f"{dialect.key.rpartition('.')[0]}.encoding")
        raise wrong_shape(dialect.key, name, expected="a header", found=first.detail, next=advice)
    return [column_name(cell) for cell in first.cells] if first is not None else []


def _column_places(name: str, dialect: TableDialect, columns: Sequence[Column], header: list[str] | None) -> list[int]:
    places: list[int] = []
    columns = [column if isinstance(column, int) else column.strip() for column in columns]  # as in the header
    for column in columns:
        if isinstance(column, int):
            places.append(column)
        elif header is None:
            raise wrong_shape(
                dialect.key, name, expected=f"a header with the column {column!r}", found="header: false in the recipe",
                next="name the columns by index from 0, or set header: true",
            )  # fmt: skip
        elif header.count(column) > 1:
            numbers = [str(place) for place, title in enumerate(header) if title == column]
            raise wrong_shape(
                dialect.key, name, expected=f"one column {column!r}",
                found=f"{len(numbers)} of this name: the columns {', '.join(numbers)}, counted from 0",
                next=f"name it by its number, {' or '.join(numbers)}, and set header: true",
            )  # fmt: skip
        elif column in header:
            places.append(header.index(column))
    missing = [column for column in columns if isinstance(column, str) and header is not None and column not in header]
    short = header is not None and any(place >= len(header) for place in places)
    if missing or short:
        names = ", ".join(str(column) for column in columns)
        raise wrong_shape(
            dialect.key, name, expected=f"a header with the columns {names}, separated by {dialect.delimiter!r}",
            found=f"the header {dialect.delimiter.join(header or [])[:200]!r}",
            next="check delimiter, header, encoding and columns in the recipe",
        )  # fmt: skip
    return places


def split_lines(lines: Iterable[TextLine], delimiter: str) -> Iterator[RowCells]:
    """The cells of each line that is not blank; quotation marks have no meaning."""
    for number, text, problem in lines:
        if problem:
            yield RowCells(number, [], "undecodable", problem)
        elif text.strip(" "):
            yield RowCells(number, text.split(delimiter))


def _quoted_rows(path: Path, dialect: TableDialect) -> Iterator[RowCells]:
    """Records that may span several lines; the number of a record is that of its first line.

    A quotation mark without its partner makes one record of several lines. Only its own line is malformed, and so is
    the line of the mark that ended the record: those between are read again, as what they are.
    """
    if len(dialect.delimiter) != 1:
        raise DataError(
            f"{dialect.key}: cells in quotation marks cannot be split at {dialect.delimiter!r}", where=path.name,
            why="their delimiter must be one character", next="set quoting: false, or another delimiter",
        )  # fmt: skip
    lines = table_lines(path, dialect)
    taken: list[TextLine] = []
    again: deque[TextLine] = deque()
    width, doubted = dialect.width, 0

    def texts() -> Iterator[str]:
        while (line := again.popleft() if again else next(lines, None)) is not None:
            taken.append(line)
            yield line.text + "\n"

    reader = csv.reader(texts(), delimiter=dialect.delimiter, strict=True)
    while True:
        taken.clear()
        fault, cells = "", list[str]()
        try:
            cells = _next_record(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = str(error)
        start, end = taken[0].number, taken[-1].number
        if start < end and (fault := fault or _swallowed(cells, taken, dialect.delimiter, width)):
            yield RowCells(start, [], "malformed", f"{fault} (lines {start} to {end})")
            again.extendleft(reversed(taken[1:]))
            doubted = max(doubted, end)
            reader = csv.reader(texts(), delimiter=dialect.delimiter, strict=True)
        elif problem := next((line.problem for line in taken if line.problem), ""):
            yield RowCells(start, [], "undecodable", problem)
        elif fault or (start == end <= doubted and any('"' in cell for cell in cells)):
            yield RowCells(start, [], "malformed", fault or "a quotation mark without its partner")
        elif any(cell.strip(" ") for cell in cells) or len(cells) > 1:
            width = width or len(cells)
            yield RowCells(start, cells)


def _swallowed(cells: Sequence[str], lines: Sequence[TextLine], delimiter: str, width: int | None) -> str:
    """Why a record of several lines is none: it has another width than the first one, or each line has this width."""
    if width is None or len(cells) != width:
        return "" if width is None else f"{len(cells)} columns, expected {width}"
    rows = all(line.text.count(delimiter) == width - 1 for line in lines)
    return "a quotation mark opens a cell that holds whole rows" if rows and width > 1 else ""


def _next_record(reader: Iterator[list[str]]) -> list[str]:
    """The next record; its cells may be longer than the library's limit, which is global for the process."""
    limit = csv.field_size_limit(_MAX_CELL_CHARS)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(limit)
