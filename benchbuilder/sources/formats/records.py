"""Records of JSON, JSONL and Parquet files."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.large_json import (
    LARGE_JSON_BYTES,
    UndecodableDocumentError,
    can_split,
    document_parts,
    load_document,
)
from benchbuilder.sources.formats.tables import Column, RawRow, read_lines

RecordLevels = dict[str, Any]
"""The elements around a record, by their paths, outermost first; the record itself is the last."""


def jsonl_rows(path: Path, encoding: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """One record per line."""
    plain = [column for column in columns if isinstance(column, str) and "." not in column]
    for number, text, problem in read_lines(path, encoding):
        if problem:
            yield RawRow(number, (), "undecodable", problem)
        elif text.strip():
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield RawRow(number, (), "malformed", f"no JSON: {error}")
                continue
            if isinstance(record, dict) and len(plain) == len(columns):
                yield RawRow(number, list(map(record.get, plain)))
            else:
                yield record_row(number, {"": record}, columns)


def json_rows(
    path: Path, name: str, columns: Sequence[Column], *, key: str, encoding: str, records: str
) -> Iterator[RawRow]:
    """The records at path `records` (lists marked by ``[]``) of one JSON document, numbered from 1.

    A field that a record lacks is read from the elements around it; ``data[].title`` names one of these explicitly.
    """
    steps = [step for step in records.split(".") if step] or ["[]"]
    parts = _document_parts(path, name, key, encoding, records)
    for number, (levels, problem) in enumerate(chain.from_iterable(_walk(part, steps, {}, "") for part in parts), 1):
        if problem and number == 1 and not levels:
            raise wrong_shape(
                key, name, expected=f"a list of records at {records or 'the top'}", found=problem,
                next="set records: to the path of the records in the file, for instance data[].paragraphs[]",
            )  # fmt: skip
        yield RawRow(number, (), "malformed", problem) if problem else record_row(number, levels, columns)


def _document_parts(path: Path, name: str, key: str, encoding: str, records: str) -> Iterator[Any]:
    """The document, in parts if it is large: each has some of the elements at the first step of `records`."""
    try:
        if path.stat().st_size > LARGE_JSON_BYTES and can_split(records):
            yield from document_parts(path, encoding, records)
        else:
            yield load_document(path, encoding)
    except UndecodableDocumentError as error:
        raise DataError(
            f"{key}: {name} cannot be decoded", where=name, why=str(error),
            next="declare the file's encoding: in the recipe, for instance gb18030",
        ) from error  # fmt: skip
    except (ValueError, RecursionError) as error:
        raise wrong_shape(key, name, expected="one JSON document", found=str(error),
                          next="set format: jsonl if there is one record per line") from error  # fmt: skip


def _walk(data: Any, steps: list[str], levels: RecordLevels, prefix: str) -> Iterator[tuple[RecordLevels, str]]:
    step, *rest = steps
    field = step.removesuffix("[]")
    here = f"{prefix}.{step}".removeprefix(".")
    if field:
        if not isinstance(data, dict) or field not in data:
            yield levels, f"no {field!r} in {_describe_shape(data)}"
            return
        data = data[field]
    if not step.endswith("[]"):
        items: list[Any] = [data]
    elif isinstance(data, list):
        items = data
    else:
        yield levels, f"{_describe_shape(data)} where {here} must be a list"
        return
    for item in items:
        inner = {**levels, here: item}
        if rest:
            yield from _walk(item, rest, inner, here)
        else:
            yield inner, ""


def record_row(number: int, levels: RecordLevels, columns: Sequence[Column]) -> RawRow:
    """The values of one record, the last of `levels`."""
    *_, record = levels.values()
    if not isinstance(record, dict | list):
        return RawRow(number, (), "malformed", f"{_describe_shape(record)} instead of a record")
    return RawRow(number, [_field(levels, record, column) for column in columns])


def _field(levels: RecordLevels, record: Any, column: Column) -> Any:
    if isinstance(column, int):
        return record[column] if isinstance(record, list) and column < len(record) else None
    prefix, marked, rest = column.rpartition("[].")
    if marked and f"{prefix}[]" in levels:
        return _inside(levels[f"{prefix}[]"], rest)
    for element in reversed(levels.values()):
        value = _inside(element, column)
        if value is not None:
            return value
    return None


def _inside(element: Any, column: str) -> Any:
    if isinstance(element, dict) and column in element:
        return element[column]
    for part in column.split("."):
        if not isinstance(element, dict):
            return None
        element = element.get(part)
    return element


def _describe_shape(data: Any) -> str:
    if isinstance(data, dict):
        keys = ", ".join(list(data)[:8]).encode(errors="backslashreplace").decode()
        return f"a mapping with the keys {keys}" if data else "an empty mapping"
    if isinstance(data, list):
        return f"a list of {len(data)}"
    return f"{type(data).__name__} {str(data)[:60]!r}"


_BATCH_ROWS = 8192
_BATCH_BYTES = 1 << 27


def parquet_rows(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows, numbered from 1; only the requested columns are read. DataError if one is missing."""
    values = (row for batch in parquet_batches(path, name, key, columns) for row in batch_rows(batch))
    return itertools.starmap(RawRow, enumerate(values, 1))


def batch_rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """The values of each row of a batch."""
    return map(list, zip(*(_values(column) for column in batch.columns), strict=True))


def _values(column: Any) -> list[Any]:
    """The values of a column; one with bytes that are not UTF-8 becomes a lone surrogate, which is no text either."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        return list(map(_value, column))


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return "\udcff"


def parquet_batches(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """The requested columns, in order, some rows at a time. DataError if one is missing."""
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise wrong_shape(key, name, expected="a Parquet file", found=str(error),
                          next="set format: in the recipe to the file's format") from error  # fmt: skip
    with file:
        known = file.schema_arrow.names
        names = [known[c] if isinstance(c, int) and c < len(known) else str(c) for c in columns]
        if any(known.count(name_) != 1 for name_ in names):
            raise wrong_shape(
                key, name, expected=f"the columns {', '.join(names)}", found=f"the columns {', '.join(known)}",
                next="name the file's columns in the recipe",
            )  # fmt: skip
        batches = file.iter_batches(_batch_size(file), columns=list(dict.fromkeys(names)))
        while (batch := _next_batch(batches, name)) is not None:
            yield pa.RecordBatch.from_arrays([batch.column(n) for n in names], names)


def _batch_size(file: pq.ParquetFile) -> int:
    """The number of rows per batch; fewer if they are long."""
    meta = file.metadata
    groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
    longest = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, longest)))


def _next_batch(batches: Iterator[pa.RecordBatch], name: str) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{name} is damaged", where=name, why=str(error)[:200],
            next="make or download the file again; its end, which lists its columns, can be read",
        ) from error  # fmt: skip
