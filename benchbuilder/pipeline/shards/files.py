"""The files of a shard: its rows and outcomes as Parquet, and the receipt that makes them count.

The receipt holds the checksums of both files and one of itself. The pages of Parquet have checksums of their own, which
every read compares: so a file that is damaged while a step works on it is an error too, never other rows.
"""

from __future__ import annotations

import contextlib
import errno
from bisect import bisect_left
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbuilder.core import (
    DamagedError,
    Row,
    Table,
    atomic_path,
    file_checksum,
    read_sealed_json,
    schema_of,
    seal_json,
    write_atomically,
)
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard

TABLE_COPY = "table-"
"""How the names of memory-mapped copies of tables begin; they are removed when a build ends."""
_BATCH_ROWS = 65_536
"""The most rows of a piece."""
_GROUP_BYTES = 16_000_000
"""About so many bytes, before compression, are in a row group: of one row, its group is read."""
_SLICE_ROWS = 8_192
"""So many rows are in memory while a slice is looked for."""
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
    checksums: dict[str, str] = {}
    for name, table in ((part_name(index), shard.rows.arrow), (outcomes_name(index), shard.outcomes)):
        # ids and texts are all different: dictionaries would make the files larger, and slower to write and to read
        with atomic_path(folder / name, sync=False) as path:
            dictionary: Any = [_PARTITION]
            pq.write_table(
                table, path, _group_rows(table), compression="lz4", use_dictionary=dictionary, write_page_checksum=True
            )
            checksums[name] = file_checksum(path)
    tallies = [[*names, n] for names, n in sorted(shard.tallies.items())]
    counts = [[*names, n] for names, n in sorted(shard.counts().items())]
    receipt = {"tallies": tallies, "notes": shard.notes, "counts": counts, "files": checksums}
    write_atomically(folder / receipt_name(index), seal_json(receipt), sync=False)
    return part_name(index), outcomes_name(index), receipt_name(index)


def _group_rows(table: pa.Table) -> int:
    """How many rows a row group of this table holds."""
    return max(1, table.num_rows * _GROUP_BYTES // max(1, table.nbytes))


def read_shard(folder: Path, index: int, row: type[Row]) -> Shard:
    """A shard that was written; DamagedError if it cannot be read."""
    receipt = read_receipt(folder, index)
    rows = read_part(folder / part_name(index), schema_of(row))
    outcomes = read_part(folder / outcomes_name(index), OUTCOME_SCHEMA)
    shard = Shard(Table(rows, row), outcomes, notes=receipt["notes"])
    for *names, n in receipt["tallies"]:
        shard.tallies[(names[0], names[1], names[2])] = n
    return shard


def read_receipt(folder: Path, index: int) -> dict[str, Any]:
    """The tallies, notes and checksums of a shard; DamagedError if the receipt is damaged."""
    name = receipt_name(index)
    try:
        return read_sealed_json(folder / name)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not is_damage(error):
            raise
        raise damaged_error(folder, f"{name}: {error}") from error


def shard_counts(folder: Path, index: int) -> list[tuple[str, str, str, int]] | None:
    """The branches of a shard by (partition, outcome, reason); ``None`` where an earlier version did not write them."""
    counts: Any = read_receipt(folder, index).get("counts")
    return None if counts is None else [(names[0], names[1], names[2], n) for *names, n in counts]


def check_files(folder: Path, checksums: Mapping[str, str]) -> None:
    """DamagedError if one of the files, given by name, is missing or does not have its checksum."""
    for name, checksum in checksums.items():
        try:
            found = file_checksum(folder / name)
        except OSError as error:
            if not is_damage(error):
                raise
            raise damaged_error(folder, f"{name} cannot be read: {error.strerror}") from error
        if found != checksum:
            raise damaged_error(folder, f"{name} does not have its checksum")


def read_part(path: Path, schema: pa.Schema) -> pa.Table:
    """A whole Parquet file as a table of this schema; DamagedError if it is damaged."""
    with _report_damage(path):
        return _check_schema(_open(path).read(use_threads=False), schema)


def _open(path: Path, **options: Any) -> pq.ParquetFile:
    return pq.ParquetFile(path, memory_map=True, page_checksum_verification=True, **options)


def read_slice(path: Path, schema: pa.Schema, start: int, count: int, names: Sequence[str] | None = None) -> pa.Table:
    """Consecutive rows of a Parquet file; of the row groups that hold them, no more is read than up to the last one.

    With `names`, only these columns of the schema. DamagedError if it is damaged.
    """
    with _report_damage(path):
        reader = _open(path)
        groups: list[int] = []
        first = position = 0
        for group in range(reader.metadata.num_row_groups):
            end = position + reader.metadata.row_group(group).num_rows
            if end > start and position < start + count:
                first = first if groups else position
                groups.append(group)
            position = end
        pieces: list[pa.RecordBatch] = []
        columns = None if names is None else list(names)
        schema = schema if names is None else pa.schema([schema.field(name) for name in names])
        batches = reader.iter_batches(_SLICE_ROWS, row_groups=groups, columns=columns, use_threads=False)
        for batch in batches if groups else ():
            if first >= start + count:
                break
            begin = max(0, start - first)
            if begin < batch.num_rows:
                pieces.append(batch.slice(begin, start + count - first - begin))
            first += batch.num_rows
        table = pa.Table.from_batches(pieces) if pieces else schema.empty_table()
        return _check_schema(table if names is None else table.select(list(names)), schema)


def _check_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return table if table.schema.equals(schema) else table.cast(schema)


def read_batches(path: Path, schema: pa.Schema, names: Sequence[str] | None, most_bytes: int) -> Iterator[pa.Table]:
    """The rows of a Parquet file of this schema, or some columns of them, piece by piece.

    A piece of whole rows has about `most_bytes` at most. Columns in structs may be named by dots. DamagedError if it is
    damaged.
    """
    with _report_damage(path):
        reader = _open(path)
        rows = _rows_of_bytes(reader.metadata, most_bytes)
        for batch in reader.iter_batches(rows, columns=None if names is None else list(names)):
            table = pa.Table.from_batches([batch])
            yield table.cast(schema) if names is None else table


def _rows_of_bytes(meta: pq.FileMetaData, most_bytes: int) -> int:
    """How many rows of a file a piece has."""
    size = sum(meta.row_group(group).total_byte_size for group in range(meta.num_row_groups))
    return max(1, min(_BATCH_ROWS, most_bytes * meta.num_rows // max(size, 1)))


def read_columns(path: Path, names: Sequence[str], *, by_dictionary: bool = False) -> pa.Table:
    """Some columns of a Parquet file, the partition `by_dictionary` if wanted; DamagedError if it is damaged."""
    with _report_damage(path):
        reader = _open(path, read_dictionary=[_PARTITION] if by_dictionary else None)
        return reader.read(columns=list(names), use_threads=False)


def read_footer(path: Path) -> pq.FileMetaData:
    """The metadata of a Parquet file; DamagedError if it is damaged."""
    with _report_damage(path):
        return pq.read_metadata(path)


def count_rows(path: Path) -> int:
    """How many rows a Parquet file holds; DamagedError if it is damaged."""
    return read_footer(path).num_rows


def may_hold(path: Path, name: str, values: Collection[Any]) -> bool:
    """Whether a column of a Parquet file may have one of `values`, by the statistics in its footer."""
    footer, ordered = read_footer(path), sorted(values)
    names = {footer.schema.column(place).path: place for place in range(footer.num_columns)}
    for group in range(footer.num_row_groups):
        stats = footer.row_group(group).column(names[name]).statistics
        if stats is None or not stats.has_min_max:
            return True
        place = bisect_left(ordered, stats.min)
        if place < len(ordered) and ordered[place] <= stats.max:
            return True
    return False


def is_damage(error: OSError) -> bool:
    """Whether a file is lost or its disk fails; files that may not be opened, or are too many, are as they were."""
    return isinstance(error, FileNotFoundError | IsADirectoryError) or error.errno == errno.EIO


@contextlib.contextmanager
def _report_damage(path: Path) -> Generator[None]:
    """Turn errors of reading into a DamagedError."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        raise damaged_error(path.parent, str(error)) from error


def damaged_error(folder: Path, why: str) -> DamagedError:
    """The error of a step whose files in `folder` are damaged."""
    return DamagedError(
        f"step {folder.parent.name!r} is damaged in the store",
        where=str(folder),
        why=why,
        next="build again with the same arguments: the step is made again; replies that were paid for stay in use",
    )
