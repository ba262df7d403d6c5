"""Rows of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.sources.files import wrong_shape
from benchbuilder.sources.reading import Column, RawRow

_BATCH_ROWS = 8192


def parquet_rows(path: Path, name: str, key: str, columns: Sequence[Column]) -> Iterator[RawRow]:
    """The rows, numbered from 1; only the columns asked for are read. DataError if one is missing."""
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
        number = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(dict.fromkeys(names))):
            for record in batch.to_pylist():
                number += 1
                yield RawRow(number, [record[n] for n in names])
