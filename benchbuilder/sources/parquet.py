"""Rows of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.sources.files import wrong_shape
from benchbuilder.sources.reading import Column, RawRow

_BATCH_ROWS = 8192


def parquet_rows(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows, numbered from 1; only the columns asked for are read. DataError if one is missing."""
    values = (row for batch in parquet_batches(path, name, key, columns) for row in batch_rows(batch))
    for number, row in enumerate(values, 1):
        yield RawRow(number, row)


def batch_rows(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """The values of each row of a batch."""
    return map(list, zip(*(column.to_pylist() for column in batch.columns), strict=True))


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
        missing = [n for n in names if n not in held]
        if missing:
            raise wrong_shape(
                key,
                name,
                expected=f"the columns {', '.join(names)}",
                found=f"the columns {', '.join(held)}",
                next="name the file's columns in the recipe",
            )
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names))):
            yield pa.RecordBatch.from_arrays([batch.column(n) for n in names], names)
