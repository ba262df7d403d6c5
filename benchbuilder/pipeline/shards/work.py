"""Cuts the rows of a step into shards, and makes one shard from files into files."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchbuilder.config import FileRef, list_parts
from benchbuilder.core import row_class, schema_of
from benchbuilder.pipeline.shards.files import count_rows, read_columns, read_footer, read_part, read_slice, write_shard
from benchbuilder.pipeline.shards.worker import ShardWorker, StepJob


@dataclass(frozen=True, slots=True)
class RowRange:
    """Consecutive rows of a Parquet file."""

    path: Path
    start: int
    count: int


@dataclass(frozen=True)
class ShardRanges:
    """Rows of the class `row` in files, cut into shards; a shard may begin and end within a file."""

    row: str
    shards: tuple[tuple[RowRange, ...], ...]

    def __len__(self) -> int:
        return len(self.shards)

    def rows(self, index: int) -> int:
        """How many rows a shard has."""
        return sum(piece.count for piece in self.shards[index])

    def total(self) -> int:
        """How many rows there are."""
        return sum(self.rows(index) for index in range(len(self)))

    def table(self, index: int) -> pa.Table:
        """The rows of a shard."""
        schema = schema_of(row_class(self.row))
        return pa.concat_tables([schema.empty_table(), *(_read(piece, schema) for piece in self.shards[index])])

    def columns(self, *names: str) -> Iterator[pa.Table]:
        """Some columns of all rows, file by file."""
        for path in dict.fromkeys(piece.path for shard in self.shards for piece in shard):
            yield read_columns(path, names)


def plan_shards(row: str, parts: Sequence[Path], rows: int, most_bytes: int = 1 << 62) -> ShardRanges:
    """Cut the rows of Parquet files into shards of `rows` rows; fewer if these take over `most_bytes` uncompressed."""
    files = [read_footer(part) for part in parts]
    count = sum(meta.num_rows for meta in files)
    size = sum(meta.row_group(i).total_byte_size for meta in files for i in range(meta.num_row_groups))
    most = max(1, min(rows, most_bytes * count // max(size, 1)))
    shards: list[tuple[RowRange, ...]] = []
    current: list[RowRange] = []
    room = most
    for part, meta in zip(parts, files, strict=True):
        start = 0
        while start < meta.num_rows:
            take = min(room, meta.num_rows - start)
            current.append(RowRange(part, start, take))
            start, room = start + take, room - take
            if not room:
                shards.append(tuple(current))
                current, room = [], most
    if current:
        shards.append(tuple(current))
    return ShardRanges(row, tuple(shards))


def _read(piece: RowRange, schema: pa.Schema) -> pa.Table:
    if piece.count == count_rows(piece.path):
        return read_part(piece.path, schema)
    return read_slice(piece.path, schema, piece.start, piece.count)


@dataclass(frozen=True)
class ShardTask:
    """The shards of a map or filter. Picklable; each copy opens its job once."""

    job: StepJob
    cut: ShardRanges
    prepared: tuple[Path, ...] = ()
    """The files that the step prepared for all workers."""
    _opened: list[ShardWorker] = field(default_factory=list[ShardWorker], compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": []}

    @property
    def step(self) -> str:
        """The step's name."""
        return self.job.step.context.step

    @property
    def cache(self) -> Path:
        """The folder of the prepared files."""
        return self.job.step.context.cache

    @property
    def shared(self) -> tuple[Path, ...]:
        """The files and folders that every shard needs: tables, what was prepared, what the spec names."""
        tables = [part for files in self.job.ports.values() for part in files.parts]
        named = [ref.file for ref in list_parts(self.job.step.spec, FileRef)]
        return tuple(dict.fromkeys([*tables, *self.prepared, *named]))

    def inputs(self, index: int) -> tuple[Path, ...]:
        """The files that hold the rows of a shard."""
        return tuple(dict.fromkeys(piece.path for piece in self.cut.shards[index]))

    def make_shard(self, index: int, folder: Path) -> tuple[str, ...]:
        """Make a shard and put its files into `folder`; gives their names, the receipt's last."""
        if not self._opened:
            self._opened.append(ShardWorker(self.job))
        return write_shard(folder, index, self._opened[0].run(self.cut.table(index)))

    def relocated(self, places: Mapping[Path, Path]) -> ShardTask:
        """The same work for a machine where the paths of `shared`, `inputs` and `cache` are elsewhere."""
        # a dry run keeps the copies of its tables in a cache of its own
        caches = {files.cache for files in self.job.ports.values() if files.cache is not None}
        there = dict.fromkeys(caches, places[self.cache]) if self.cache in places else {}
        sink = io.BytesIO()
        _RelocatingPickler(sink, {**there, **places}).dump(self)
        work: ShardTask = pickle.loads(sink.getvalue())
        return work


class _RelocatingPickler(pickle.Pickler):
    """Pickles objects with other paths in the place of some."""

    def __init__(self, sink: io.BytesIO, places: Mapping[Path, Path]) -> None:
        super().__init__(sink)
        self._places = places

    def reducer_override(self, obj: Any) -> Any:
        """File references and paths, as they are on the other machine."""
        if isinstance(obj, FileRef) and obj.file in self._places:
            return type(obj).model_validate, ({"path": obj.path, "resolved_path": str(self._places[obj.file])},)
        if isinstance(obj, Path) and obj in self._places:
            return Path, (str(self._places[obj]),)
        return NotImplemented
