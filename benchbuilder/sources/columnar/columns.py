"""Reads table files by column: the cells of many rows at a time, as spans of the bytes of the file."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.sources.columnar.cells import PADDING, Cells, Mask, Places, find_bytes
from benchbuilder.sources.formats.delimited import (
    ColumnLayout,
    TableDialect,
    delimited_rows,
    read_layout,
    select_columns,
    split_lines,
    table_lines,
)
from benchbuilder.sources.formats.records import batch_rows, parquet_batches
from benchbuilder.sources.formats.tables import Block, Column, RawRow, TextLine, cell_text, decode_lines, read_blocks

BLOCK_BYTES = 2_000_000
"""The approximate number of bytes that are read at once."""
CHUNK_ROWS = 10_000
"""Rows per batch of files that are read row by row."""
CHUNK_CHARACTERS = 1 << 25
"""Characters per batch of such files, so that many books (one per row) need no more memory than many lines."""

_BY_BLOCK = frozenset({"utf-8", "ascii", "iso8859-1", "cp1252", "gb18030", "gbk", "gb2312", "big5", "euc_jp", "euc_kr"})
"""Encodings in which bytes decode character by character, and no part of a character equals a line feed."""
_MARK = "\ufeff".encode()


@dataclass(slots=True)
class ColumnBatch:
    """Consecutive units of a file, at least one.

    Attributes:
        lines: The numbers of the units.
        problems: Reason and detail of invalid units, by position.
        valid_places: The positions of the other units.
        cells: The cells of the valid units, one `Cells` per requested column.
        non_text: By the number of a column, which of its cells are neither text nor a number, if any.
    """

    lines: Places
    problems: dict[int, tuple[str, str]]
    valid_places: Places
    cells: Sequence[Cells]
    non_text: dict[int, Mask] = field(default_factory=dict[int, Mask])


def delimited_columns(path: Path, name: str, dialect: TableDialect, columns: Sequence[Column]) -> Iterator[ColumnBatch]:
    """Like `delimited_rows`, but many rows at a time."""
    codec = codecs.lookup(dialect.encoding).name
    if dialect.quoting or codec not in _BY_BLOCK or set(dialect.delimiter) & {"\n", "\r"}:
        yield from row_columns(delimited_rows(path, name, dialect, columns), len(columns))
        return
    rows = split_lines(_track_lines(table_lines(path, dialect), last := [0]), dialect.delimiter)
    layout = read_layout(rows, name, dialect, columns, path)
    header_line = last[0] if dialect.header else dialect.first - 1
    for block in read_blocks(path, BLOCK_BYTES):
        for batch in _block_columns(block, codec, dialect, layout):
            start = int(np.searchsorted(batch.lines, header_line, side="right"))
            if start < len(batch.lines):
                yield slice_columns(batch, start, len(batch.lines)) if start else batch


def parquet_columns(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[ColumnBatch]:
    """Like `parquet_rows`, but many rows at a time."""
    first = 1
    for batch in parquet_batches(path, name, key, columns):
        lines = np.arange(first, first + batch.num_rows)
        first += batch.num_rows
        if not batch.num_rows:
            continue
        if all(_is_text(column) for column in batch.columns):
            yield ColumnBatch(lines, {}, lines - lines[0], [Cells.from_arrow(column) for column in batch.columns])
            continue
        raws = (RawRow(line, values) for line, values in zip(lines.tolist(), batch_rows(batch), strict=True))
        yield from row_columns(raws, len(columns))


def row_columns(raws: Iterator[RawRow], count: int) -> Iterator[ColumnBatch]:
    """Rows that are read one by one, as batches of `count` columns."""
    while chunk := _chunk(raws):
        problems = {place: (raw.reason, raw.detail) for place, raw in enumerate(chunk) if raw.reason}
        valid = [place for place, raw in enumerate(chunk) if not raw.reason]
        batch = ColumnBatch(np.array([raw.line for raw in chunk], np.int64), problems, np.array(valid, np.int64), [])
        cells: list[Cells] = []
        for number in range(count):
            values = [chunk[place].values[number] for place in valid]
            texts = [cell_text(value) for value in values]
            wrong = [text is None and value is not None for text, value in zip(texts, values, strict=True)]
            if any(wrong):
                batch.non_text[number] = np.array(wrong)
            cells.append(Cells.from_arrow(pa.array(texts, pa.string())))
        batch.cells = cells
        yield batch


def _chunk(raws: Iterator[RawRow]) -> list[RawRow]:
    """The next rows; fewer if they are long."""
    chunk: list[RawRow] = []
    size = 0
    for raw in islice(raws, CHUNK_ROWS):
        chunk.append(raw)
        size += sum([len(value) for value in raw.values if isinstance(value, str)])
        if size >= CHUNK_CHARACTERS:
            break
    return chunk


def _is_text(column: Any) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _track_lines(lines: Iterable[TextLine], last: list[int]) -> Iterator[Any]:
    """The lines of a file; `last` gets the number of the last one that was read."""
    for line in lines:
        last[0] = line.number
        yield line


def slice_columns(batch: ColumnBatch, start: int, stop: int) -> ColumnBatch:
    """The units from position `start` to `stop`."""
    first, last = np.searchsorted(batch.valid_places, (start, stop)).tolist()
    return ColumnBatch(
        batch.lines[start:stop],
        {place - start: problem for place, problem in batch.problems.items() if start <= place < stop},
        batch.valid_places[first:last] - start,
        [cells.take(slice(first, last)) for cells in batch.cells],
        {number: mask[first:last] for number, mask in batch.non_text.items()},
    )


def _block_columns(block: Block, codec: str, dialect: TableDialect, layout: ColumnLayout) -> Iterator[ColumnBatch]:
    parts = None
    with suppress(UnicodeError):
        text = block.data.decode(codec)
        again = _header_count(text, dialect.delimiter, layout, from_start=block.first > 1)
        if again <= (block.first == 1 < dialect.first):  # else a row may repeat the header
            parts = text.encode(), dialect.delimiter.encode()
    if parts is None:
        lines = decode_lines(io.BytesIO(block.data), dialect.encoding, block.first)
        raws = select_columns(split_lines(lines, dialect.delimiter), layout)
        yield from row_columns(raws, len(layout.places))
        return
    data, delimiter = parts
    yield _split_block(data, block.first, delimiter, layout)


def _header_count(text: str, delimiter: str, layout: ColumnLayout, *, from_start: bool) -> int:
    """How many lines may be the header: they begin with the name of its first column, white space aside."""
    if not layout.header:
        return 0
    name = rf"[\s\ufeff]*{re.escape(layout.header[0])}\s*{re.escape(delimiter)}"
    return len(re.findall(rf"\n{name}", text)) + (from_start and re.match(name, text) is not None)


def _split_block(data: bytes, first: int, delimiter: bytes, layout: ColumnLayout) -> ColumnBatch:
    """The rows of complete lines in UTF-8."""
    buffer = np.frombuffer(data + bytes(PADDING), np.uint8)
    feeds = np.flatnonzero(buffer == 10)
    starts = np.concatenate([np.zeros(1, np.int64), feeds + 1])
    ends = np.concatenate([feeds, np.full(1, len(data))])
    if data.endswith(b"\n"):
        starts, ends = starts[:-1], ends[:-1]
    if b"\r" in data:
        ends -= (ends > starts) & (buffer[ends - 1] == 13)
    if first == 1 and data.startswith(_MARK):
        starts[0] += len(_MARK)
    filled = np.flatnonzero(~_blank(data, buffer, starts, ends))
    numbers, starts, ends = first + filled, starts[filled], ends[filled]
    marks = np.append(_delimiters(data, buffer, delimiter), len(data))
    begin = np.searchsorted(marks[:-1], starts)
    counts = np.searchsorted(marks[:-1], ends) - begin + 1
    fits = counts >= layout.min_width
    if layout.width is not None:
        fits &= counts == layout.width
    problems = {int(place): ("malformed", layout.width_problem(int(counts[place]))) for place in np.flatnonzero(~fits)}
    valid = np.flatnonzero(fits)
    starts, ends, begin, counts = starts[valid], ends[valid], begin[valid], counts[valid]
    cells: list[Cells] = []
    for place in layout.places:
        left = starts if place == 0 else marks[begin + place - 1] + len(delimiter)
        right = np.where(counts > place + 1, marks[np.minimum(begin + place, len(marks) - 1)], ends)
        cells.append(Cells(buffer, left, right))
    return ColumnBatch(numbers, problems, valid, cells)


def _blank(data: bytes, buffer: Any, starts: Places, ends: Places) -> Mask:
    """Which lines are blank."""
    blank = starts >= ends
    spaced = np.flatnonzero(~blank & (buffer[starts] == 32) & (buffer[ends - 1] == 32))
    blank[spaced] = [not data[starts[place] : ends[place]].strip(b" ") for place in spaced]
    return blank


def _delimiters(data: bytes, buffer: Any, delimiter: bytes) -> Places:
    """The positions of the delimiters of a block, as a split from the left finds them."""
    places = find_bytes(buffer, delimiter)
    if len(delimiter) > 1 and (np.diff(places) < len(delimiter)).any():
        places = np.array([match.start() for match in re.finditer(re.escape(delimiter), data)], np.int64)
    return places
