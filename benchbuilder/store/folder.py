"""The store of one build: a folder per step and key, shards committed by rename, the manifest last."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import ValidationError

from benchbuilder.accounts import FATES, Shard
from benchbuilder.errors import StoreError
from benchbuilder.kinds import row_class
from benchbuilder.records.envelope import Row
from benchbuilder.records.table import Table, schema_of
from benchbuilder.store.manifest import Manifest

_DRAFT, _OLD = ".draft", ".old"
_SCRATCH = "scratch-"


class Store:
    """Steps of one build below `folder`.

    Everything in it can be made again, except `workplace` (people's work) and `journal` (paid replies). `workplace` is
    that of another store where people worked for both, and `journal` one that several builds share.
    """

    def __init__(self, folder: Path, workplace: Path | None = None, journal: Path | None = None) -> None:
        self.folder = folder
        self.steps = folder / "store" / "steps"
        self.cache = folder / "store" / "cache"
        self.workplace = workplace or folder / "annotation"
        self.checksums = folder / "store" / "checksums.json"
        self.journal = journal or folder / "replies.sqlite"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the store for one build; StoreError if another holds it."""
        (self.folder / "store").mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / "store" / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise StoreError(
                f"another build holds {self.folder}",
                why="one build per folder, so that nothing is written twice",
                next="wait for it to end, or build elsewhere with run.dir=FOLDER",
            ) from error
        try:
            self._recover()
            yield
        finally:
            lock.release()

    @contextmanager
    def scratch(self) -> Generator[Store]:
        """A store that is thrown away, on the same file system."""
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self.folder / "store") as folder:
            yield Store(Path(folder))

    def _recover(self) -> None:
        """Finish or undo what a killed build left between taking an old seal away and putting the new one there."""
        for scratch in (self.folder / "store").glob(f"{_SCRATCH}*"):
            shutil.rmtree(scratch)
        for old in self.steps.glob(f"*/*{_OLD}"):
            place = old.with_name(old.name.removesuffix(_OLD))
            if place.exists():
                shutil.rmtree(old)
            else:
                old.rename(place)

    def place(self, step: str, key: str) -> Path:
        """The folder of a step under a key."""
        return self.steps / step / key[:20]

    def manifest(self, step: str, key: str) -> Manifest | None:
        """The manifest of a step under a key, if it was sealed."""
        return self._read(self.place(step, key) / "manifest.json")

    def _read(self, path: Path) -> Manifest | None:
        try:
            return Manifest.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise StoreError(
                f"the manifest {path} is damaged",
                why=str(error.errors()[0]["msg"]),
                next=f"delete {path.parent}; the step is made again",
            ) from error

    def latest(self, step: str) -> Manifest | None:
        """The manifest of the step that was sealed or reused last, under any key."""
        try:
            key = (self.steps / step / "latest").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return self._read(self.steps / step / key / "manifest.json")

    def rows(self, manifest: Manifest) -> Table[Any]:
        """The rows of a sealed step, memory-mapped."""
        cls = row_class(manifest.row)
        return Table(self._concat(manifest, "part", schema_of(cls)), cls)

    def fates(self, manifest: Manifest) -> pa.Table:
        """The fates of a sealed step's tickets."""
        return self._concat(manifest, "fates", FATES)

    def _concat(self, manifest: Manifest, prefix: str, schema: pa.Schema) -> pa.Table:
        place = self.place(manifest.step, manifest.key)
        try:
            tables = [read_part(place / f"{prefix}-{index:05d}.parquet", schema) for index in range(manifest.shards)]
        except (OSError, pa.ArrowException) as error:
            raise StoreError(
                f"step {manifest.step!r} is damaged in the store",
                where=str(place),
                why=str(error),
                next=f"delete {place}; the step is made again",
            ) from error
        table = pa.concat_tables([schema.empty_table(), *tables])
        if prefix == "part" and table.num_rows != manifest.rows:
            raise StoreError(
                f"step {manifest.step!r} is damaged in the store",
                where=str(place),
                why=f"its manifest counts {manifest.rows} rows, its files hold {table.num_rows}",
                next=f"delete {place}; the step is made again",
            )
        return table

    def draft(self, step: str, key: str, shape: Mapping[str, Any]) -> Draft:
        """A step in the making; shards that an interrupted build committed under the same `shape` are kept."""
        return Draft(self.place(step, key), shape)


class Draft:
    """A step in the making, in a folder beside `place`, which takes its place when it is sealed.

    `shape` says how the input was cut; shards of another shape are thrown away. What was sealed before stays until
    then: a build that is killed loses neither the old seal nor the new shards.
    """

    def __init__(self, place: Path, shape: Mapping[str, Any]) -> None:
        self.place = place
        self.folder = place.with_name(place.name + _DRAFT)
        mark = self.folder / "draft.json"
        text = json.dumps(shape, sort_keys=True)
        if not mark.exists() or mark.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            _write(mark, text.encode())

    def committed(self, index: int) -> bool:
        """Whether shard `index` is there; its receipt is written last."""
        return (self.folder / f"shard-{index:05d}.json").exists()

    def commit(self, index: int, shard: Shard) -> None:
        """Write a balanced shard: rows and fates first, the receipt that makes them count last."""
        for prefix, table in (("part", shard.rows.arrow), ("fates", shard.fates)):
            path = self.folder / f"{prefix}-{index:05d}.parquet"
            temporary = path.with_suffix(".tmp")
            pq.write_table(table, temporary, compression="zstd", version="2.6")
            temporary.replace(path)
        receipt = {
            "tallies": [[*names, n] for names, n in sorted(shard.tallies.items())],
            "notes": shard.notes,
        }
        _write(self.folder / f"shard-{index:05d}.json", json.dumps(receipt, ensure_ascii=False).encode())

    def load(self, index: int, row: type[Row]) -> Shard:
        """A committed shard."""
        receipt = json.loads((self.folder / f"shard-{index:05d}.json").read_text(encoding="utf-8"))
        rows = read_part(self.folder / f"part-{index:05d}.parquet", schema_of(row))
        fates = read_part(self.folder / f"fates-{index:05d}.parquet", FATES)
        shard = Shard(Table(rows, row), fates, notes=receipt["notes"])
        for *names, n in receipt["tallies"]:
            shard.tallies[(names[0], names[1], names[2])] = n
        return shard

    def seal(self, manifest: Manifest) -> None:
        """Write the manifest and put the folder in its place: from here on the step is there."""
        _write(self.folder / "manifest.json", manifest.model_dump_json(indent=1).encode())
        old = self.place.with_name(self.place.name + _OLD)
        if self.place.exists():
            self.place.rename(old)
        self.folder.rename(self.place)
        shutil.rmtree(old, ignore_errors=True)
        point(self.place)


def read_part(path: Path, schema: pa.Schema) -> pa.Table:
    """A Parquet file of just this schema, memory-mapped; OSError or ArrowException if it is damaged."""
    return pq.read_table(path, schema=schema, memory_map=True, partitioning=None)


def point(place: Path) -> None:
    """Remember `place` as the one that its step was last sealed or reused under."""
    latest = place.parent / "latest"
    if not latest.exists() or latest.read_text(encoding="utf-8") != place.name:
        _write(latest, place.name.encode())


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)
