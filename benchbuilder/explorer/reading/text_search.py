"""Searches texts in columns: an exact text by its bytes, or a regular expression by RE2, which cannot run away."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import DataError

BoolArray = npt.NDArray[np.bool_]
_HEADER = frozenset({
    "id", "of", "parents", "slot", "origin", "produced_by", "language", "partition", "fact", "family", "passage",
    "candidate", "form", "polarity", "joined", "wrong_from", "checks", "tags", "type", "expected", "asked", "original",
})  # fmt: skip
"""Fields without text of their own: the header, ids of other rows, and names that a step sets."""


@dataclass(frozen=True)
class TextQuery:
    """What is searched: `text` as it is written, or with `is_pattern` a regular expression."""

    text: str
    is_pattern: bool = False

    def __post_init__(self) -> None:
        """DataError for what RE2 does not understand."""
        if self.is_pattern:
            try:
                self._matches(pa.array([""]))
            except pa.ArrowInvalid as error:
                cause = str(error).partition("\n")[0].removeprefix("Invalid regular expression: ")
                raise DataError(f"RE2 says: {cause}", where=self.text[:200]) from error

    def _matches(self, texts: pa.Array[Any]) -> Any:
        return pc.call_function("match_substring_regex", [texts], pc.MatchSubstringOptions(self.text))

    def rows_with(self, texts: pa.Array[Any]) -> BoolArray:
        """Which of these texts hold it."""
        if self.is_pattern:
            found = self._matches(texts)
            return np.asarray(pc.call_function("coalesce", [found, pa.scalar(False)]).to_numpy(zero_copy_only=False))
        return _rows_with_bytes(texts, self._bytes)

    def is_in(self, text: str) -> bool:
        """Whether one text holds it."""
        return bool(self.rows_with(pa.array([text], pa.string()))[0]) if self.is_pattern else self.text in text

    @cached_property
    def _bytes(self) -> bytes:
        return self.text.encode("utf-8", "surrogatepass")


def _rows_with_bytes(texts: pa.Array[Any], wanted: bytes) -> BoolArray:
    """Which texts hold these bytes: the buffer of all is searched at once, and hits over a border do not count."""
    found = np.zeros(len(texts), dtype=bool)
    if not len(texts) or not wanted:
        return ~found
    is_large = pa.types.is_large_string(texts.type)
    _, offsets_buffer, data = texts.buffers()
    if offsets_buffer is None or data is None:
        return found
    kind = np.int64 if is_large else np.int32
    offsets = np.frombuffer(memoryview(offsets_buffer), dtype=kind)[texts.offset : texts.offset + len(texts) + 1]
    held, ends, end = data.to_pybytes(), offsets.data, int(offsets[-1])
    at, row, rows = held.find(wanted, int(offsets[0]), end), 0, list[int]()
    while at >= 0:
        row = bisect_right(ends, at, row) - 1
        if at + len(wanted) <= ends[row + 1]:
            rows.append(row)
            at = held.find(wanted, ends[row + 1], end)
        else:
            at = held.find(wanted, at + 1, end)
    found[rows] = True
    return found


def text_leaves(schema: pa.Schema) -> list[str]:
    """The columns and fields of structs of a schema that hold text, by dotted name, without the row header."""
    return [name for field in schema if field.name not in _HEADER for name in _leaves(field.name, field.type)]


def _leaves(name: str, kind: Any) -> Iterator[str]:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield name
    elif pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            below = kind.field(place)
            if below.name not in _HEADER:
                yield from _leaves(f"{name}.{below.name}", below.type)
    elif (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and any(_leaves("", kind.value_type)):
        yield name


def rows_with_text(table: pa.Table, query: TextQuery) -> BoolArray:
    """Which rows of a table hold the query in a text of theirs."""
    found = np.zeros(table.num_rows, dtype=bool)
    for name in table.column_names:
        column: Any = table.column(name)
        combined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        pieces = combined.chunks if isinstance(combined, pa.ChunkedArray) else [combined]
        start = 0
        for piece in pieces:
            found[start : start + len(piece)] |= _rows_of(piece, query)
            start += len(piece)
    return found


def _rows_of(array: Any, query: TextQuery) -> BoolArray:
    found = np.zeros(len(array), dtype=bool)
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return query.rows_with(array)
    if pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            if kind.field(place).name not in _HEADER:
                found |= _rows_of(array.field(place), query)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        owners = pc.call_function("list_parent_indices", [array]).to_numpy()
        within = _rows_of(array.flatten(), query)
        found[owners[within]] = True
    return found
