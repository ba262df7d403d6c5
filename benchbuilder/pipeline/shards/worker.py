"""Runs a map or filter on the rows of one shard, in any process."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock

from benchbuilder.core import (
    AccountingError,
    Failed,
    Outcome,
    Row,
    RowIndex,
    Table,
    atomic_path,
    file_checksum,
    read_given_file,
    row_class,
    schema_of,
    take_rows,
    write_atomically,
)
from benchbuilder.models import Conversation
from benchbuilder.pipeline.accounting.shard import Shard, account_batch, account_filter, account_map
from benchbuilder.pipeline.memory import release_free_memory
from benchbuilder.pipeline.shards.files import (
    TABLE_COPY,
    count_rows,
    may_hold,
    read_batches,
    read_columns,
    read_footer,
    read_part,
)
from benchbuilder.steps import Filter, Map, PromptedMap, Step

_FEW_ROWS, _FEW_BYTES = 20_000, 32_000_000
"""Tables of up to so many rows and about so many bytes are loaded into memory."""


@dataclass(frozen=True)
class TableFiles:
    """A table as files: its row class by name, its Parquet parts in order, and the folder for a memory-mapped copy."""

    row: str
    parts: tuple[Path, ...]
    cache: Path | None = None

    def load(self, most_bytes: int | None = None) -> Table[Any]:
        """The table: small ones in memory (of at most `most_bytes`, too), others as a `StoredTable`."""
        cls = row_class(self.row)
        if self.cache is not None and not self._is_small(_FEW_BYTES if most_bytes is None else most_bytes):
            return StoredTable(cls, self.parts, self.cache)
        schema = schema_of(cls)
        tables = [read_part(part, schema) for part in self.parts]
        return Table(pa.concat_tables([schema.empty_table(), *tables]), cls)

    def _is_small(self, most_bytes: int) -> bool:
        few_bytes = min(most_bytes, _FEW_BYTES)
        return sum(map(count_rows, self.parts)) <= _FEW_ROWS and _byte_size(self.parts) <= few_bytes


def _byte_size(parts: Sequence[Path]) -> int:
    """How many bytes the rows of Parquet files take uncompressed."""
    footers = [read_footer(part) for part in parts]
    return sum(file.row_group(group).total_byte_size for file in footers for group in range(file.num_row_groups))


class StoredTable(Table[Any]):
    """A large table in Parquet files; none of it is held in memory.

    `batches` reads it from the files. `arrow` gives access to single rows: a memory-mapped copy in Arrow's own format,
    made in the cache when first used, and shared by all processes of a machine.
    """

    def __init__(self, row: type[Row], parts: Sequence[Path], cache: Path) -> None:
        self.row = row
        self._parts = tuple(parts)
        self._cache = cache
        self._count = sum(count_rows(part) for part in self._parts)
        self._mapped: pa.Table | None = None
        self._memory: mmap.mmap | None = None

    @property
    def arrow(self) -> pa.Table:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The rows, memory-mapped."""
        if self._mapped is None:
            self._mapped = self._map()
        return self._mapped

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take."""
        return _byte_size(self._parts)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, or some columns of them, from the files; columns in structs may be named by dots."""
        for part in self._parts:
            yield from read_batches(part, schema_of(self.row), names, self.window_bytes)

    def release(self) -> None:
        """Give back the pages of the memory-mapped copy that were read; where the system cannot, it does so itself."""
        if self._memory is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED)

    def find(self, ids: Collection[str], name: str = "id") -> Table[Any]:
        """The rows of these ids, or of these values of another column; of files without any, only these are read."""
        ordered, schema = sorted(ids), schema_of(self.row)
        wanted, tables = pa.array(ordered, pa.string()), [schema.empty_table()]
        for part in self._parts:
            if not may_hold(part, name, ordered):  # ids begin with what a row is
                continue
            mask: Any = pc.is_in(read_columns(part, [name]).column(name), value_set=wanted)
            if pc.any(mask, min_count=0).as_py():
                tables.append(read_part(part, schema).filter(mask))
        return Table(pa.concat_tables(tables), self.row)

    def _map(self) -> pa.Table:
        marks = [(str(part), (stat := part.stat()).st_size, stat.st_mtime_ns) for part in self._parts]
        path = self._cache / f"{TABLE_COPY}{hashlib.sha256(repr(marks).encode()).hexdigest()[:20]}.arrow"
        if not _is_whole(path):
            path.parent.mkdir(parents=True, exist_ok=True)  # for the lock
            with FileLock(path.with_suffix(".lock")):
                if not _is_whole(path):
                    self._copy(path)
                    release_free_memory()
        with path.open("rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(self._memory))).read_all()

    def _copy(self, path: Path) -> None:
        with atomic_path(path, sync=False) as temporary:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema_of(self.row)) as writer:
                for batch in self.batches():
                    writer.write_table(batch)
            write_atomically(_checksum_path(path), file_checksum(temporary), sync=False)


def _is_whole(copy: Path) -> bool:
    """Whether a copy of a table is there and has its checksum: a command that was killed may have left it."""
    checksum = _checksum_path(copy)
    return copy.exists() and checksum.exists() and read_given_file(checksum) == file_checksum(copy).encode()


def _checksum_path(copy: Path) -> Path:
    return copy.with_suffix(".xxh3")


@dataclass(frozen=True)
class StepJob:
    """A map or filter and its inputs. Picklable before anything is opened.

    `ports` holds the files of every port but `each`, `row` and `output` the names of the row classes of the `each`
    port and of what comes out.
    """

    step: Step
    ports: Mapping[str, TableFiles]
    row: str
    output: str

    def lookups(self) -> dict[str, Table[Any]]:
        """The tables of the lookup ports."""
        ports = self.step.ports
        return {port: files.load() for port, files in self.ports.items() if ports[port].mode == "lookup"}


class ShardWorker:
    """A job opened in this process: lookups loaded, parents indexed, the step open."""

    def __init__(self, job: StepJob) -> None:
        self.job = job
        job.step.open(job.lookups())
        parents = {port: files for port, files in job.ports.items() if job.step.ports[port].mode == "parent"}
        self._parents = {port: ParentIndex(files.load()) for port, files in parents.items()}

    def run(self, table: pa.Table) -> Shard:
        """The shard of these rows of the `each` port."""
        step, rows = self.job.step, Table(table, row_class(self.job.row))
        if isinstance(step, Filter):
            return account_filter(step, rows, step.screen(rows))
        if not isinstance(step, Map):
            raise TypeError(f"{step.kind} is neither a map nor a filter: it cannot run by shards")
        output = row_class(self.job.output)
        branches = step.map_columns(rows) if not self._parents else None
        if branches is not None:
            return account_batch(step, rows, branches, output)
        listed = list(rows)
        joined = self.ancestors_by_port(listed)
        outcomes = [list(step.map(row, parents)) for row, parents in zip(listed, joined, strict=True)]
        return account_map(step, listed, outcomes, output)

    def conversations(self, table: pa.Table) -> ShardConversations:
        """The conversations about these rows of the `each` port; none has begun."""
        return ShardConversations(self, list(Table(table, row_class(self.job.row))))

    def ancestors_by_port(self, rows: Sequence[Row]) -> list[dict[str, Row]]:
        """For each row its ancestors by parent port."""
        joined: list[dict[str, Row]] = [{} for _ in rows]
        for port, parents in self._parents.items():
            for row, by_port, ancestor in zip(rows, joined, parents.find(rows), strict=True):
                if ancestor is not None:
                    by_port[port] = ancestor
                elif not self.job.step.ports[port].optional:
                    raise AccountingError(
                        f"row {row.id} of step {self.job.step.context.step!r} has no ancestor in port {port!r}",
                        why="a parent port must be wired to a step that the row comes from",
                        next="wire the port to an earlier step of the same branch",
                    )
        return joined


@dataclass
class ShardConversations:
    """The conversations about the rows of one shard, and the outcomes of those that ended."""

    worker: ShardWorker
    rows: Sequence[Row]
    outcomes_by_position: dict[int, list[Outcome]] = field(default_factory=dict[int, list[Outcome]])

    def conversations(self) -> Iterator[tuple[int, Conversation]]:
        """Each row's position and its conversation, made one at a time."""
        step = self.worker.job.step
        if not isinstance(step, PromptedMap):
            raise TypeError(f"{step.kind} puts no prompts")
        for place, (row, parents) in enumerate(zip(self.rows, self.worker.ancestors_by_port(self.rows), strict=True)):
            yield place, step.converse(row, parents)

    def record_outcome(self, position: int, outcome: list[Outcome] | str) -> bool:
        """Record the outcomes of the row at `position`, or why it failed; whether it was the last row of the shard."""
        if isinstance(outcome, str):
            slots = self.worker.job.step.slots if isinstance(self.worker.job.step, Map) else ("",)
            outcome = [Failed(outcome, slot) for slot in (("",) if slots == "many" else slots)]
        self.outcomes_by_position[position] = outcome
        return len(self.outcomes_by_position) == len(self.rows)

    def build_shard(self) -> Shard:
        """The shard, in the order of the rows."""
        step = self.worker.job.step
        if not isinstance(step, Map):
            raise TypeError(f"{step.kind} puts no prompts")
        outcomes = [self.outcomes_by_position[place] for place in range(len(self.rows))]
        return account_map(step, self.rows, outcomes, row_class(self.worker.job.output))


class ParentIndex:
    """Rows by id."""

    def __init__(self, table: Table[Any]) -> None:
        self._table = table
        self._places = RowIndex(table.arrow.column("id").chunks)

    def find(self, rows: Sequence[Row]) -> list[Row | None]:
        """For each row the nearest of itself and its ancestors that is in the table."""
        places = self._nearest(rows)
        needed = sorted({place for place in places if place is not None})
        ancestors = Table(take_rows(self._table.arrow, np.array(needed, np.int64)), self._table.row)
        row_at = dict(zip(needed, ancestors, strict=True))
        return [None if place is None else row_at[place] for place in places]

    def _nearest(self, rows: Sequence[Row]) -> list[int | None]:
        """The positions in the table of the rows themselves, or of their nearest ancestors in it."""
        places: list[int | None] = [None] * len(rows)
        missing, distance = list(range(len(rows))), 0
        while missing:
            ids = [rows[index].parents[distance - 1] if distance else rows[index].id for index in missing]
            for index, place in zip(missing, self._places.find(ids), strict=True):
                places[index] = place
            distance += 1
            missing = [n for n in missing if places[n] is None and distance <= len(rows[n].parents)]
        return places
