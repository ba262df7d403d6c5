"""Delimited text: rows of cells, with or without header, with or without quotation marks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow, TextLine, read_lines

_MAX_CELL_CHARS = 1 << 27


@dataclass(frozen=True)
class TableDialect:
    """How a delimited file is split into cells; `key` is its recipe key, for messages."""

    key: str
    encoding: str
    delimiter: str
    quoting: bool
    header: bool
    width: int | None


@dataclass(slots=True)
class RowCells:
    """The cells of a row, or the reason why it has none."""

    line: int
    cells: list[str]
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class ColumnLayout:
    """The positions of the requested columns in a row, and the number of columns of a row (at least `min_width`)."""

    places: Sequence[int]
    width: int | None

    @property
    def min_width(self) -> int:
        """The smallest number of columns with all requested ones."""
        return max(self.places, default=-1) + 1

    def width_problem(self, count: int) -> str:
        """The problem of a row of `count` columns, or ""."""
        if (self.width is None or count == self.width) and count >= self.min_width:
            return ""
        expected = str(self.width) if self.width is not None else f"at least {self.min_width}"
        return f"{count} columns, expected {expected}"


def delimited_rows(path: Path, name: str, dialect: TableDialect, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows of a file. DataError if the header lacks a column; a row with another width is malformed."""
    rows = _rows(path, dialect)
    yield from select_columns(rows, read_layout(rows, name, dialect, columns))


def delimited_names(path: Path, name: str, dialect: TableDialect) -> list[str]:
    """The names of the columns of a file; none without a header."""
    return header_names(_rows(path, dialect), name, dialect)


def header_names(rows: Iterator[RowCells], name: str, dialect: TableDialect) -> list[str]:
    """The names of the columns of `rows`; none without a header."""
    return _header(name, dialect, next(rows, None)) if dialect.header else []


def read_layout(rows: Iterator[RowCells], name: str, dialect: TableDialect, columns: Sequence[Column]) -> ColumnLayout:
    """The layout of `rows`, after reading their header. DataError if the header lacks a column."""
    header = _header(name, dialect, next(rows, None)) if dialect.header else None
    places = _column_places(name, dialect, columns, header)
    return ColumnLayout(places, dialect.width or (len(header) if header is not None else None))


def _rows(path: Path, dialect: TableDialect) -> Iterator[RowCells]:
    if dialect.quoting:
        return _quoted_rows(path, dialect)
    return split_lines(read_lines(path, dialect.encoding), dialect.delimiter)


def select_columns(rows: Iterable[RowCells], layout: ColumnLayout) -> Iterator[RawRow]:
    """The requested columns of each row, or its problem."""
    for row in rows:
        if row.reason:
            yield RawRow(row.line, (), row.reason, row.detail)
        elif wrong := layout.width_problem(len(row.cells)):
            yield RawRow(row.line, (), "malformed", wrong)
        else:
            yield RawRow(row.line, [row.cells[place] for place in layout.places])


def _header(name: str, dialect: TableDialect, first: RowCells | None) -> list[str]:
    if first is not None and first.reason:
        advice = "check delimiter and quoting in the recipe, or set header: false"
        if first.reason == "undecodable":
            advice = f"set the encoding of {dialect.key.rpartition('.')[0]} to the file's, for instance gb18030"
        raise wrong_shape(dialect.key, name, expected="a header", found=first.detail, next=advice)
    return [cell.strip() for cell in first.cells] if first is not None else []


def _column_places(name: str, dialect: TableDialect, columns: Sequence[Column], header: list[str] | None) -> list[int]:
    places: list[int] = []
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
    """Records that may span several lines; the number of a record is that of its first line."""
    problems: dict[int, str] = {}

    def texts() -> Iterator[str]:
        for line in read_lines(path, dialect.encoding):
            if line.problem:
                problems[line.number] = line.problem
            yield line.text + "\n"

    if len(dialect.delimiter) != 1:
        raise DataError(
            f"{dialect.key}: cells in quotation marks cannot be split at {dialect.delimiter!r}", where=path.name,
            why="their delimiter must be one character", next="set quoting: false, or another delimiter",
        )  # fmt: skip
    reader = csv.reader(texts(), delimiter=dialect.delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = _next_record(reader)
        except StopIteration:
            return
        except csv.Error as error:
            end = f" (lines {start} to {reader.line_num})" if reader.line_num > start else ""
            yield RowCells(start, [], "malformed", f"{error}{end}")
            continue
        problem = next((problems[n] for n in range(start, reader.line_num + 1) if n in problems), "")
        problems.clear()
        if problem:
            yield RowCells(start, [], "undecodable", problem)
        elif any(cell.strip(" ") for cell in cells) or len(cells) > 1:
            yield RowCells(start, cells)


def _next_record(reader: Iterator[list[str]]) -> list[str]:
    """The next record; its cells may be longer than the library's limit, which is global for the process."""
    limit = csv.field_size_limit(_MAX_CELL_CHARS)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(limit)
