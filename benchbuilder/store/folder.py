"""The store of one build: a folder per step and key, shards committed by rename, the manifest last."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
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


class Store:
    """Steps of one build below `folder`. Everything in it can be made again, except `workplace` (people's work)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = folder / "store" / "steps"
        self.cache = folder / "store" / "cache"
        self.workplace = folder / "annotation"
        self.checksums = folder / "store" / "checksums.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
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
            yield
        finally:
            lock.release()

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
            tables = [
                pq.read_table(place / f"{prefix}-{index:05d}.parquet", schema=schema, memory_map=True)
                for index in range(manifest.shards)
            ]
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            raise StoreError(
                f"step {manifest.step!r} is damaged in the store",
                where=str(place),
                why=str(error),
                next=f"delete {place}; the step is made again",
            ) from error
        return pa.concat_tables([schema.empty_table(), *tables])

    def draft(self, step: str, key: str, shape: Mapping[str, Any]) -> Draft:
        """A step in the making; shards that an interrupted build committed under the same `shape` are kept."""
        return Draft(self.place(step, key), shape)


class Draft:
    """A step in the making. `shape` says how the input was cut; shards of another shape are thrown away."""

    def __init__(self, place: Path, shape: Mapping[str, Any]) -> None:
        self.place = place
        mark = place / "draft.json"
        text = json.dumps(shape, sort_keys=True)
        if not mark.exists() or mark.read_text(encoding="utf-8") != text:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            _write(mark, text.encode())

    def committed(self, index: int) -> bool:
        """Whether shard `index` is there; its receipt is written last."""
        return (self.place / f"shard-{index:05d}.json").exists()

    def commit(self, index: int, shard: Shard) -> None:
        """Write a balanced shard: rows and fates first, the receipt that makes them count last."""
        for prefix, table in (("part", shard.rows.arrow), ("fates", shard.fates)):
            path = self.place / f"{prefix}-{index:05d}.parquet"
            temporary = path.with_suffix(".tmp")
            pq.write_table(table, temporary, compression="zstd", version="2.6")
            temporary.replace(path)
        receipt = {
            "tallies": [[*names, n] for names, n in sorted(shard.tallies.items())],
            "notes": shard.notes,
        }
        _write(self.place / f"shard-{index:05d}.json", json.dumps(receipt, ensure_ascii=False).encode())

    def load(self, index: int, row: type[Row]) -> Shard:
        """A committed shard."""
        receipt = json.loads((self.place / f"shard-{index:05d}.json").read_text(encoding="utf-8"))
        rows = pq.read_table(self.place / f"part-{index:05d}.parquet", schema=schema_of(row), memory_map=True)
        fates = pq.read_table(self.place / f"fates-{index:05d}.parquet", schema=FATES, memory_map=True)
        shard = Shard(Table(rows, row), fates, notes=receipt["notes"])
        for *names, n in receipt["tallies"]:
            shard.tallies[(names[0], names[1], names[2])] = n
        return shard

    def seal(self, manifest: Manifest) -> None:
        """Write the manifest: from here on the step is there."""
        _write(self.place / "manifest.json", manifest.model_dump_json(indent=1).encode())
        point(self.place)


def point(place: Path) -> None:
    """Remember `place` as the one that its step was last sealed or reused under."""
    latest = place.parent / "latest"
    if not latest.exists() or latest.read_text(encoding="utf-8") != place.name:
        _write(latest, place.name.encode())


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(path.suffix + ".tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def digest_of(table: pa.Table) -> str:
    """SHA-256 of the rows in order, whatever chunks they lie in."""
    digest = hashlib.sha256()
    with pa.ipc.new_stream(_Sink(digest), table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=65_536)
    return digest.hexdigest()


class _Sink:
    """A writable file that only hashes."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self._digest = digest

    def write(self, data: Any) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing to flush."""

    def writable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing to close."""
