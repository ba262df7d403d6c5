"""The files of a shard: its rows and outcomes as Parquet, and the receipt that makes them count."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import Row, StoreError, Table, atomic_path, schema_of, write_atomically
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard

TABLE_COPY = "table-"
"""How the names of memory-mapped copies of tables begin; they are removed when a build ends."""
_BATCH_ROWS = 65_536
_PARTITION = "partition"
"""The column with few different values."""


def part_name(index: int) -> str:
    """The file of a shard's rows."""
    return f"part-{index:05d}.parquet"


def outcomes_name(index: int) -> str:
    """The file of the outcomes of a shard's branches."""
    return f"outcomes-{index:05d}.parquet"


def receipt_name(index: int) -> str:
    """The file that is written last: without it, a shard does not count."""
    return f"shard-{index:05d}.json"


def write_shard(folder: Path, index: int, shard: Shard) -> tuple[str, ...]:
    """Write a shard: rows and outcomes first, the receipt last; a file has its name only once it is complete.

    Nothing is synced yet: the commit of the step does so.

    Returns:
        The names of the files.
    """
    for name, table in ((part_name(index), shard.rows.arrow), (outcomes_name(index), shard.outcomes)):
        # ids and texts are all different: dictionaries would make the files larger, and slower to write and to read
        with atomic_path(folder / name, sync=False) as path:
            pq.write_table(table, path, compression="lz4", use_dictionary=[_PARTITION])  # pyright: ignore[reportArgumentType]
    receipt = {"tallies": [[*names, n] for names, n in sorted(shard.tallies.items())], "notes": shard.notes}
    write_atomically(folder / receipt_name(index), json.dumps(receipt, ensure_ascii=False), sync=False)
    return part_name(index), outcomes_name(index), receipt_name(index)


def read_shard(folder: Path, index: int, row: type[Row]) -> Shard:
    """A shard that was written."""
    receipt = _read_receipt(folder / receipt_name(index))
    rows = read_part(folder / part_name(index), schema_of(row))
    outcomes = read_part(folder / outcomes_name(index), OUTCOME_SCHEMA)
    shard = Shard(Table(rows, row), outcomes, notes=receipt["notes"])
    for *names, n in receipt["tallies"]:
        shard.tallies[(names[0], names[1], names[2])] = n
    return shard


def _read_receipt(path: Path) -> dict[str, Any]:
    try:
        receipt: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged_error(path.parent, f"{path.name}: {error}") from error
    return receipt


def read_part(path: Path, schema: pa.Schema) -> pa.Table:
    """A whole Parquet file as a table of this schema; StoreError if it is damaged."""
    with _report_damage(path):
        return _check_schema(pq.ParquetFile(path, memory_map=True).read(use_threads=False), schema)


def read_slice(path: Path, schema: pa.Schema, start: int, count: int) -> pa.Table:
    """Consecutive rows of a Parquet file; only the row groups that hold them are read. StoreError if it is damaged."""
    with _report_damage(path):
        reader = pq.ParquetFile(path, memory_map=True)
        groups: list[int] = []
        first = position = 0
        for group in range(reader.metadata.num_row_groups):
            end = position + reader.metadata.row_group(group).num_rows
            if end > start and position < start + count:
                first = first if groups else position
                groups.append(group)
            position = end
        return _check_schema(reader.read_row_groups(groups, use_threads=False), schema).slice(start - first, count)


def _check_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table if table.schema.equals(schema) else table.cast(schema)


def read_batches(path: Path, schema: pa.Schema, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The rows of a Parquet file of this schema, or some columns of them, piece by piece; StoreError if it is damaged.

    Columns in structs may be named by dots.
    """
    with _report_damage(path):
        reader = pq.ParquetFile(path, memory_map=True)
        for batch in reader.iter_batches(_BATCH_ROWS, columns=None if names is None else list(names)):
            table = pa.Table.from_batches([batch])
            yield table.cast(schema) if names is None else table


def read_columns(path: Path, names: Sequence[str], *, by_dictionary: bool = False) -> pa.Table:
    """Some columns of a Parquet file, the partition `by_dictionary` if wanted; StoreError if it is damaged."""
    with _report_damage(path):
        reader = pq.ParquetFile(path, memory_map=True, read_dictionary=[_PARTITION] if by_dictionary else None)
        return reader.read(columns=list(names), use_threads=False)


def read_footer(path: Path) -> pq.FileMetaData:
    """The metadata of a Parquet file; StoreError if it is damaged."""
    with _report_damage(path):
        return pq.read_metadata(path)


def count_rows(path: Path) -> int:
    """How many rows a Parquet file holds; StoreError if it is damaged."""
    return read_footer(path).num_rows


@contextlib.contextmanager
def _report_damage(path: Path) -> Generator[None]:
    """Turn errors of reading into a StoreError that says what to do."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise damaged_error(path.parent, str(error)) from error


def damaged_error(folder: Path, why: str) -> StoreError:
    """The error of a step whose files in `folder` are damaged."""
    return StoreError(
        f"step {folder.parent.name!r} is damaged in the store",
        where=str(folder),
        why=why,
        next=f"delete {folder}; the step is made again",
    )
