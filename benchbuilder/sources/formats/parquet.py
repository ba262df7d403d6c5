"""Rows of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import DataError
from benchbuilder.sources.formats.files import wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow

_BATCH_ROWS = 8192
_BATCH_BYTES = 1 << 27


def parquet_rows(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows, numbered from 1; only the columns asked for are read. DataError if one is missing."""
    values = (row for batch in parquet_batches(path, name, key, columns) for row in batch_rows(batch))
    for number, row in enumerate(values, 1):
        yield RawRow(number, row)


def batch_rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """The values of each row of a batch."""
    return map(list, zip(*(_values(column) for column in batch.columns), strict=True))


def _values(column: Any) -> list[Any]:
    """The values of a column; one with bytes that are no UTF-8 becomes half a character, which is no text either."""
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
    """The columns that are asked for, in their order, some rows at a time. DataError if one is missing."""
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise wrong_shape(
            key,
            name,
            expected="a Parquet file",
            found=str(error),
            next="set format: in the recipe to the file's format",
        ) from error
    with file:
        held = file.schema_arrow.names
        names = [held[c] if isinstance(c, int) and c < len(held) else str(c) for c in columns]
        if any(held.count(n) != 1 for n in names):
            raise wrong_shape(
                key,
                name,
                expected=f"the columns {', '.join(names)}",
                found=f"the columns {', '.join(held)}",
                next="name the file's columns in the recipe",
            )
        batches = file.iter_batches(_batch_size(file), columns=list(dict.fromkeys(names)))
        while (batch := _next_batch(batches, name)) is not None:
            yield pa.RecordBatch.from_arrays([batch.column(n) for n in names], names)


def _batch_size(file: pq.ParquetFile) -> int:
    """How many rows are read in one go: fewer where they are long."""
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
            next="make or download the file again; its end, which tells of its columns, can be read",
        ) from error  # fmt: skip
