"""Builds rows from Arrow columns: ids, row headers, parents, and the texts inside a payload."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.row import ProducedBy, Row

_compute: Any = pc
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_ESCAPED = r'[\x00-\x1f"\\]'
_SPECIAL = bytes(range(0x20)) + b'"\\'
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_ID_BYTES = 10
_MOST_BYTES = 2**31 - 1


def column_ids(
    name: str, identity: Mapping[str, pa.Array[Any]], slots: pa.Array[Any], drivers: pa.Array[Any], partition: str = ""
) -> pa.Array[Any]:
    """The ids of rows of the record `name`, as strings.

    `identity` holds the columns of its identity fields, `slots` the slots, `drivers` the ids of the driving parents
    ("" for rows of a source, which count under `partition`). Equals what `Row.build` computes for each row.
    """
    fields = [part for key in sorted(identity) for part in (f"{_JSON(key)}:", _json(identity[key]))]
    parts: list[Any] = [f"[{_JSON(name)},[{{", *_comma_separated(fields), "},", _json(slots), ","]
    counted = _compute.if_else(_compute.equal(drivers, ""), _JSON(partition), '""')
    return _hashed(f"{name}-", _joined([*parts, counted, "],", _json(drivers), "]"]))


def source_rows(
    row: type[Row], file: str, lines: pa.Array[Any], produced_by: ProducedBy, language: str, partition: str,
    fields: Mapping[str, pa.Array[Any]],
) -> Table[Any]:  # fmt: skip
    """Rows that a source read from `file`, with the columns `fields` of their role."""
    count = len(lines)
    empty = constant_column("", count)
    envelope = {
        "id": column_ids(row.name, {name: fields[name] for name in row.identity}, empty, empty, partition),
        "of": empty,
        "parents": _lists(np.zeros(count + 1, np.int64), pa.array([], pa.string())),
        "slot": empty,
        "origin": pa.StructArray.from_arrays([constant_column(file, count), lines], names=["file", "line"]),
        "produced_by": _produced_by_column(produced_by, count),
        "language": constant_column(language, count),
        "partition": constant_column(partition, count),
    }
    return _table(row, {**envelope, **fields})


def content_digests(columns: Sequence[pa.Array[Any]], size: int = 16) -> NDArray[np.uint8]:
    """A hash of each line of texts in `columns`, `size` bytes each."""
    parts: list[Any] = ["["]
    for place, texts in enumerate(columns):
        parts += ["," if place else "", _json(texts)]
    return _digests(_joined([*parts, "]"]), size)


def child_rows(
    row: type[Row],
    parents: pa.Table,
    produced_by: ProducedBy,
    slots: pa.Array[Any],
    fields: Mapping[str, pa.Array[Any]],
    lineage: pa.Array[Any] | None = None,
    rules: pa.Array[Any] | None = None,
) -> Table[Any]:
    """Rows made of `parents` (one line per child), with the columns `fields` of their role.

    They keep origin, language and partition. `lineage` has the ancestors of each, nearest first, if there are others
    than the parent and its ancestors, and `rules` the rule that made each, if they differ.
    """
    ids = combined_column(parents, "id")
    identity = {name: fields[name] for name in row.identity}
    envelope = {
        "id": column_ids(row.name, identity, slots, ids),
        "of": ids,
        "parents": _prepend_ids(ids, combined_column(parents, "parents")) if lineage is None else lineage,
        "slot": slots,
        "produced_by": _produced_by_column(produced_by, parents.num_rows, rules),
        **{name: combined_column(parents, name) for name in ("origin", "language", "partition")},
    }
    return _table(row, {**envelope, **fields})


def combined_column(table: pa.Table, name: str) -> pa.Array[Any]:
    """One column of a table in one piece; `name` may go into structs by dots."""
    head, *rest = name.split(".")
    chunked = table.column(head)
    whole: Any = chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.array([], chunked.type)
    for part in rest:
        whole = _compute.struct_field(whole, part)
    return whole


def constant_column(value: str, count: int) -> pa.Array[Any]:
    """A column that holds the same text `count` times."""
    data = value.encode()
    if len(data) * count > _MOST_BYTES:
        raise OverflowError(f"{count} texts of {len(data)} bytes do not fit a column in one piece")
    offsets = np.arange(count + 1, dtype=np.int32) * len(data)
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data * count)]
    return pa.StringArray.from_buffers(count, *buffers[1:])  # pyright: ignore[reportArgumentType]


def _produced_by_column(produced_by: ProducedBy, count: int, rules: pa.Array[Any] | None = None) -> pa.Array[Any]:
    rule = constant_column(produced_by.rule, count) if rules is None else rules
    return pa.StructArray.from_arrays([rule, constant_column(produced_by.version, count)], ["rule", "version"])


def _table(row: type[Row], columns: Mapping[str, pa.Array[Any]]) -> Table[Any]:
    schema = schema_of(row)
    cast = [
        column if (column := columns[field.name]).type.equals(field.type) else column.cast(field.type)
        for field in schema
    ]
    return Table(pa.table(cast, schema=schema), row)


def _prepend_ids(ids: pa.Array[Any], lists: Any) -> pa.Array[Any]:
    """Each list with the id of its line before it."""
    count = len(ids)
    lengths = _compute.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(lengths + 1, out=offsets[1:])
    places = np.empty(int(offsets[-1]), np.int64)
    first = np.zeros(len(places), bool)
    first[offsets[:-1]] = True
    places[first] = np.arange(count)
    places[~first] = count + np.arange(len(places) - count)
    taken: Any = pa.array(places)
    return _lists(offsets, pa.concat_arrays([ids, lists.flatten()]).take(taken))


def _lists(offsets: NDArray[np.int64], values: Any) -> pa.Array[Any]:
    """The lists of `values` that begin and end at `offsets`."""
    places: Any = pa.array(offsets.astype(np.int32))
    return pa.ListArray.from_arrays(places, values)


def value_lists(lists: Any, values: Any) -> pa.Array[Any]:
    """Lists as long as `lists`, which has no nulls, of other `values`."""
    lengths = _compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    return _lists(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]), values)


def _comma_separated(fields: list[Any]) -> list[Any]:
    """Pairs of name and value with commas between them."""
    parts: list[Any] = []
    for place in range(0, len(fields), 2):
        parts += [("," if place else "") + fields[place], fields[place + 1]]
    return parts


def _joined(parts: list[Any]) -> Any:
    return _compute.binary_join_element_wise(*parts, "")


def _json(array: Any) -> Any:
    """Each value as JSON text."""
    if pa.types.is_string(array.type):
        return _quoted(array)
    if pa.types.is_struct(array.type) and array.null_count == 0:
        names = sorted(field.name for field in array.type)
        fields = [part for name in names for part in (f"{_JSON(name)}:", _json(_compute.struct_field(array, name)))]
        return _joined(["{", *_comma_separated(fields), "}"])
    if pa.types.is_list(array.type) and array.null_count == 0:
        return _joined(["[", _compute.binary_join(value_lists(array, _json(array.flatten())), ","), "]"])
    return pa.array([_JSON(value) for value in array.to_pylist()], pa.string())


def _quoted(array: Any) -> Any:
    quoted = _joined(['"', array, '"'])
    if not array.null_count and not _any_of(array, _SPECIAL):
        return quoted
    marked = _compute.match_substring_regex(array, _ESCAPED)
    if array.null_count:
        marked = _compute.fill_null(marked, True)
    if not _compute.any(marked, min_count=0).as_py():
        return quoted
    escaped = pa.array([_JSON(text) for text in array.filter(marked).to_pylist()], pa.string())
    return _compute.replace_with_mask(quoted, marked, escaped)


def _any_of(array: Any, special: bytes) -> bool:
    """Whether any text of an array has one of the bytes `special`; a first check, much faster than a pattern."""
    _, offsets, data = array.buffers()
    if not len(array) or data is None:
        return False
    ends = np.frombuffer(offsets, np.int32)
    low, high = int(ends[array.offset]), int(ends[array.offset + len(array)])
    held = data.slice(low, high - low).to_pybytes()
    return len(held.translate(None, special)) != len(held)


def _digests(texts: Any, size: int) -> NDArray[np.uint8]:
    """The hash of each text, a line of `size` bytes for each."""
    count = len(texts)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + count + 1].tolist() if count else []
    held, blake2b = data.to_pybytes() if data is not None else b"", hashlib.blake2b
    digests = b"".join([blake2b(held[start:end], digest_size=size).digest() for start, end in pairwise(ends)])
    return np.frombuffer(digests, np.uint8).reshape(count, size)


def _hashed(prefix: str, texts: Any) -> pa.Array[Any]:
    """An id for each text: the prefix and the hexadecimal digits of its hash."""
    count, hashed = len(texts), _digests(texts, _ID_BYTES)
    begin = np.frombuffer(prefix.encode(), np.uint8)
    width = len(begin) + 2 * _ID_BYTES
    ids = np.empty((count, width), np.uint8)
    ids[:, : len(begin)] = begin
    ids[:, len(begin) :: 2] = _HEX[hashed >> 4]
    ids[:, len(begin) + 1 :: 2] = _HEX[hashed & 15]
    starts = np.arange(count + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(count, pa.py_buffer(starts.tobytes()), pa.py_buffer(ids.tobytes()))


def text_leaves(array: pa.Array[Any], rows: Any = None) -> Iterator[tuple[Any, Any]]:
    """Each column of texts inside `array`: the place of the line that each text belongs to, and the texts.

    Structs and lists are gone into; numbers are left out.
    """
    column: Any = array
    rows = np.arange(len(column)) if rows is None else rows
    if pa.types.is_string(column.type):
        yield rows, column
    elif pa.types.is_struct(column.type):
        for field in column.type:
            yield from text_leaves(_compute.struct_field(column, field.name), rows)
    elif pa.types.is_list(column.type):
        lengths = _compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        yield from text_leaves(column.flatten(), np.repeat(rows, lengths))
