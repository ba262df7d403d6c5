"""Rows of a file in any of the table formats, reduced to the columns that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from benchbuilder.config import FileRef
from benchbuilder.sources.base import SourceSpec
from benchbuilder.sources.formats.lines import Encoding

Column = Annotated[int, Field(ge=0, strict=True)] | str
"""A column: its name in the header or record, or its index from 0."""

find_surrogate = re.compile("[\ud800-\udfff]").search

TableFormat = Literal["delimited", "csv", "tsv", "json", "jsonl", "parquet", "text"]

TABLE_SUFFIXES: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "text",
}


class RawRow(NamedTuple):
    """A unit of a file: its number, the values of the columns in the order asked for, or why it has none.

    A value is ``None`` where a record has no such field. Where `reason` is set, `values` is empty.
    """

    line: int
    values: Sequence[Any]
    reason: str = ""
    detail: str = ""


RawRows = Iterator[RawRow]


class TableSpec(SourceSpec):
    """Where the files are and how they are cut into units. Units are numbered from 1.

    In line formats the number is the line on which the unit begins, as an editor shows it, and blank lines are not
    units (they are counted in the numbers alone); in JSON and Parquet it is the number of the record.
    """

    path: FileRef
    """A file, a folder or a glob."""
    files: str = ""
    """Which files of a folder: a name with ``*``, and ``{category}`` or ``{split}`` where the name says them."""
    format: TableFormat | None = None
    """Default: by the file's suffix."""
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)] | None = None
    """Default: a comma in csv, a tab in tsv and delimited files."""
    quoting: bool | None = None
    """Whether a quotation mark encloses a cell (default in csv) or is a character like any other."""
    header: bool = True
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of a well-formed row; default: that of the header; without one, as many as are asked for."""
    records: str = ""
    """Where the records are in a JSON file, for instance ``data[].paragraphs[]``; default: the file is their list."""
    unit: Literal["line", "block", "file"] = "line"
    """What a unit of a plain text is: a line, a block between blank lines, or the whole file."""


def cell_text(value: Any) -> str | None:
    """A cell as text without white space around it; ``None`` if it is neither a number nor text that can be encoded."""
    if isinstance(value, str):
        return value.strip() if value.isascii() or not find_surrogate(value) else None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return None
    return str(value)
