"""Lines of text files, and rows of files in any table format."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import AfterValidator, Field, model_validator

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Regex
from benchbuilder.sources.base import SourceSpec


def _known_encoding(name: str) -> str:
    try:
        plain = "\n".encode(name).removeprefix(codecs.BOM_UTF8) == b"\n"
    except (LookupError, TypeError) as error:
        raise ValueError(f"{name!r} is no encoding that Python knows") from error
    if not plain:
        raise ValueError(f"{name!r} cannot be read line by line: convert the file to utf-8")
    return name


Encoding = Annotated[str, AfterValidator(_known_encoding)]
"""Name of an encoding in which a line feed is one byte: utf-8 (with or without BOM), gb18030, cp1252, ..."""


class TextLine(NamedTuple):
    """A line without its end. `problem` names the bytes that cannot be decoded, or is ""."""

    number: int
    text: str
    problem: str = ""


def read_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    """The lines of a file, from 1. A line ends in LF or CRLF; a byte order mark is omitted."""
    with path.open("rb") as handle:
        yield from decode_lines(handle, encoding)


def decode_lines(raws: Iterable[bytes], encoding: str, first: int = 1) -> Iterator[TextLine]:
    """The lines of raw lines; the first one has the number `first` in its file."""
    for number, raw in enumerate(raws, first):
        problem = ""
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            text = raw.decode(encoding, errors="replace")
            problem = decoding_problem(error, encoding)
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield TextLine(number, text.removesuffix("\n").removesuffix("\r"), problem)


class Block(NamedTuple):
    """Complete raw lines of a file; `first` is the number of the first one."""

    first: int
    data: bytes


def read_blocks(path: Path, size: int) -> Iterator[Block]:
    """A file in pieces of about `size` bytes, split after line feeds."""
    first, rest = 1, b""
    with path.open("rb") as handle:
        while piece := handle.read(size):
            end = piece.rfind(b"\n") + 1
            if not end:
                rest += piece
                continue
            data = rest + piece[:end]
            yield Block(first, data)
            first += data.count(b"\n")
            rest = piece[end:]
    if rest:
        yield Block(first, rest)


def decoding_problem(error: UnicodeDecodeError, encoding: str, before: int = 0) -> str:
    """The bytes that cannot be decoded, `before` bytes into the text, as a message."""
    raw = error.object[error.start : error.end].hex(" ")
    return f"bytes {raw} at position {before + error.start + 1} are not {encoding}"


Column = Annotated[int, Field(ge=0, strict=True)] | str
"""A column: its name in the header or record, its index from 0, or a path inside a record, such as ``answers[].text``.

In a path, ``[]`` is every element of a list, ``[0]`` its first one, and a dot leads into a field. ``a | b`` is the
first path that finds something.
"""

find_surrogate = re.compile("[\ud800-\udfff]").search

TableFormat = Literal["delimited", "csv", "tsv", "json", "jsonl", "parquet", "xlsx", "text"]

TABLE_SUFFIXES: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".txt": "text",
}


class RawRow(NamedTuple):
    """A unit of a file: its number and the values of the requested columns, or the reason why it has none.

    A value is ``None`` if a record has no such field. If `reason` is set, `values` is empty.
    """

    line: int
    values: Sequence[Any]
    reason: str = ""
    detail: str = ""


class CleanRule(Spec):
    """A replacement in a text: every match of `find` becomes `put`."""

    find: Regex
    put: str = ""
    """May name groups of the match, as ``\\1``."""


class TableSpec(SourceSpec):
    """The files, and how they are split into units. Units are numbered from 1.

    In line formats, the number is the line on which the unit begins, as in an editor; blank lines are counted but are
    not units. In JSON and Parquet, and where `records` leads into lines, it is the number of the record.
    """

    path: FileRef
    """A file, a folder or a glob."""
    files: str = ""
    """Which files of a folder: a name with ``*``, and with ``{category}`` or ``{split}`` for these parts of it."""
    format: TableFormat | None = None
    """Default: by the file's suffix."""
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)] | None = None
    """Default: a comma in csv, a tab in tsv and delimited files."""
    quoting: bool | None = None
    """Whether quotation marks enclose cells (default in csv) or have no meaning."""
    header: bool = True
    """Whether the first line names the columns. Default: it does, unless all `columns` are numbers."""
    width: Annotated[int, Field(ge=1)] | None = None
    """Number of columns of a valid row; default: that of the header, or else at least the requested columns."""
    sheet: str = ""
    """The worksheet of an XLSX file; default: the first one."""
    records: str = ""
    """The path of the records in JSON or in a column, for instance ``data[].paragraphs[]`` (lists) or ``entries{}`` (a
    mapping of records, whose keys are the column ``entries{}.key``); default: the file is a list of records."""
    cells: Literal["text", "json"] = "text"
    """Whether cells of a table that begin with a bracket are JSON, into which columns may lead."""
    clean: dict[str, tuple[CleanRule, ...]] = {}
    """What is replaced in each column before anything else, in this order. Each rule must change a record."""
    unit: Literal["line", "block", "file"] = "line"
    """The unit of a plain text: a line, a block between blank lines, or the complete file."""

    @model_validator(mode="before")
    @classmethod
    def _numbers_mean_no_header(cls, data: Any) -> Any:
        """Who counts columns has no names for them: the first line is a row."""
        if isinstance(data, dict):
            given = cast("dict[str, Any]", data)
            numbers = list(_leaves(given.get("columns")))
            if "header" not in given and numbers and all(isinstance(number, int) for number in numbers):
                return {**given, "header": False}
        return cast("Any", data)


def _leaves(value: Any) -> Iterator[Any]:
    """The columns that a recipe names, one by one."""
    if isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in cast("Sequence[Any]", value):
            yield from _leaves(part)
    elif value is not None:
        yield value


def cell_text(value: Any) -> str | None:
    """A cell as text without surrounding white space; ``None`` if it is neither a number nor valid text."""
    if isinstance(value, str):
        return value.strip() if value.isascii() or not find_surrogate(value) else None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return None
    return str(value)


def text_rows(path: Path, encoding: str, unit: Literal["line", "block", "file"], columns: int) -> Iterator[RawRow]:
    """The units of a text, with the number of their first line; the text is the first of `columns` values."""
    lines = read_lines(path, encoding)
    empty = [None] * (columns - 1)
    if unit == "line":
        for line in lines:
            if line.problem:
                yield RawRow(line.number, (), "undecodable", line.problem)
            elif text := line.text.strip():
                yield RawRow(line.number, [text, *empty])
        return
    groups = [list(lines)] if unit == "file" else _blocks(lines)
    for group in groups:
        problem = next((f"line {line.number}: {line.problem}" for line in group if line.problem), "")
        text = "\n".join(line.text.rstrip() for line in group).strip()
        if problem:
            yield RawRow(group[0].number, (), "undecodable", problem)
        elif text:
            yield RawRow(group[0].number, [text, *empty])


def _blocks(lines: Iterator[TextLine]) -> Iterator[list[TextLine]]:
    for blank, group in groupby(lines, key=lambda line: not line.problem and not line.text.strip()):
        if not blank:
            yield list(group)
