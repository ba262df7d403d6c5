"""Files of tables read by the column: the cells of many rows at a time, as places in the bytes of the file."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator, Sequence
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
)
from benchbuilder.sources.formats.lines import Block, decode_lines, read_blocks, read_lines
from benchbuilder.sources.formats.parquet import batch_rows, parquet_batches
from benchbuilder.sources.formats.tables import Column, RawRow, cell_text

BLOCK_BYTES = 2_000_000
"""About how much of a file is looked at in one go."""
CHUNK_ROWS = 10_000
"""How many rows are made columns of where they are read row by row."""
CHUNK_CHARACTERS = 1 << 25
"""How many characters they may have, so that many books, a row each, take no more memory than many lines."""

_BY_BLOCK = frozenset({"utf-8", "ascii", "iso8859-1", "cp1252", "gb18030", "gbk", "gb2312", "big5", "euc_jp", "euc_kr"})
"""Encodings in which a character is never more than its own bytes and no part of one looks like a line feed."""
_MARK = "\ufeff".encode()


@dataclass(slots=True)
class ColumnBatch:
    """Consecutive units of a file, at least one; `lines` are their numbers, `problems` the invalid units by position.

    The others stand at the places `valid_places`; `cells` has their cells, a column after the other, in the order asked
    for. `non_text` says of columns by their number which of their cells are neither text nor a number, if any.
    """

    lines: Places
    problems: dict[int, tuple[str, str]]
    valid_places: Places
    cells: Sequence[Cells]
    non_text: dict[int, Mask] = field(default_factory=dict[int, Mask])


def delimited_columns(path: Path, name: str, dialect: TableDialect, columns: Sequence[Column]) -> Iterator[ColumnBatch]:
    """The same as `delimited_rows`, many rows at a time."""
    codec = codecs.lookup(dialect.encoding).name
    if dialect.quoting or codec not in _BY_BLOCK or set(dialect.delimiter) & {"\n", "\r"}:
        yield from row_columns(delimited_rows(path, name, dialect, columns), len(columns))
        return
    rows = split_lines(_track_lines(path, dialect.encoding, seen := [0]), dialect.delimiter)
    layout = read_layout(rows, name, dialect, columns)
    begin = seen[0] if dialect.header else 0
    for block in read_blocks(path, BLOCK_BYTES):
        for held in _block_columns(block, codec, dialect, layout):
            before = int(np.searchsorted(held.lines, begin, side="right"))
            if before < len(held.lines):
                yield slice_columns(held, before, len(held.lines)) if before else held


def parquet_columns(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[ColumnBatch]:
    """The same as `parquet_rows`, many rows at a time."""
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
    """Rows that are read one by one, as columns; `count` is the number of columns."""
    while chunk := _chunk(raws):
        bad = {place: (raw.reason, raw.detail) for place, raw in enumerate(chunk) if raw.reason}
        good = [place for place, raw in enumerate(chunk) if not raw.reason]
        values = [[chunk[place].values[number] for place in good] for number in range(count)]
        texts = [[cell_text(value) for value in column] for column in values]
        odd: dict[int, Mask] = {}
        for number, (column, held) in enumerate(zip(values, texts, strict=True)):
            wrong = [text is None and value is not None for text, value in zip(held, column, strict=True)]
            if any(wrong):
                odd[number] = np.array(wrong)
        yield ColumnBatch(
            np.array([raw.line for raw in chunk], np.int64),
            bad,
            np.array(good, np.int64),
            [Cells.from_arrow(pa.array(held, pa.string())) for held in texts],
            odd,
        )


def _chunk(raws: Iterator[RawRow]) -> list[RawRow]:
    """The next rows, fewer where they are long."""
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


def _track_lines(path: Path, encoding: str, seen: list[int]) -> Iterator[Any]:
    """Lines of a file, the number of the last one noted."""
    for line in read_lines(path, encoding):
        seen[0] = line.number
        yield line


def slice_columns(batch: ColumnBatch, start: int, stop: int) -> ColumnBatch:
    """Some units of columns."""
    first, last = np.searchsorted(batch.valid_places, (start, stop)).tolist()
    return ColumnBatch(
        batch.lines[start:stop],
        {place - start: said for place, said in batch.problems.items() if start <= place < stop},
        batch.valid_places[first:last] - start,
        [cells.take(slice(first, last)) for cells in batch.cells],
        {number: odd[first:last] for number, odd in batch.non_text.items()},
    )


def _block_columns(block: Block, codec: str, dialect: TableDialect, layout: ColumnLayout) -> Iterator[ColumnBatch]:
    data = block.data
    try:
        text = data.decode(codec)
        if codec not in ("utf-8", "ascii"):
            data = text.encode()
        delimiter = dialect.delimiter.encode()
    except UnicodeError:
        lines = decode_lines(io.BytesIO(block.data), dialect.encoding, block.first)
        raws = select_columns(split_lines(lines, dialect.delimiter), layout)
        yield from row_columns(raws, len(layout.places))
        return
    del text
    yield _split_block(data, block.first, delimiter, layout)


def _split_block(data: bytes, first: int, delimiter: bytes, layout: ColumnLayout) -> ColumnBatch:
    """The rows of whole lines of UTF-8."""
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
    there = np.flatnonzero(~_blank(data, buffer, starts, ends))
    numbers, starts, ends = first + there, starts[there], ends[there]
    marks = np.append(_delimiters(data, buffer, delimiter), len(data))
    begin = np.searchsorted(marks[:-1], starts)
    counts = np.searchsorted(marks[:-1], ends) - begin + 1
    fits = counts >= layout.min_width
    if layout.width is not None:
        fits &= counts == layout.width
    bad = {int(place): ("malformed", layout.width_problem(int(counts[place]))) for place in np.flatnonzero(~fits)}
    good = np.flatnonzero(fits)
    starts, ends, begin, counts = starts[good], ends[good], begin[good], counts[good]
    cells: list[Cells] = []
    for place in layout.places:
        left = starts if place == 0 else marks[begin + place - 1] + len(delimiter)
        right = np.where(counts > place + 1, marks[np.minimum(begin + place, len(marks) - 1)], ends)
        cells.append(Cells(buffer, left, right))
    return ColumnBatch(numbers, bad, good, cells)


def _blank(data: bytes, buffer: Any, starts: Places, ends: Places) -> Mask:
    """Which lines hold nothing but blanks."""
    blank = starts >= ends
    spaced = np.flatnonzero(~blank & (buffer[starts] == 32) & (buffer[ends - 1] == 32))
    blank[spaced] = [not data[starts[place] : ends[place]].strip(b" ") for place in spaced]
    return blank


def _delimiters(data: bytes, buffer: Any, delimiter: bytes) -> Places:
    """Where the delimiters of a block stand, as a split from the left finds them."""
    there = find_bytes(buffer, delimiter)
    if len(delimiter) > 1 and (np.diff(there) < len(delimiter)).any():
        there = np.array([match.start() for match in re.finditer(re.escape(delimiter), data)], np.int64)
    return there
