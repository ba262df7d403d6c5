"""The store of one build: a folder per step and key, shards committed by rename, the manifest last."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout
from pydantic import ValidationError

from benchbuilder.config import display_path
from benchbuilder.core import (
    Row,
    StoreError,
    Table,
    make_folder,
    row_class,
    schema_of,
    sync_paths,
    write_atomically,
)
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.shards.files import (
    TABLE_COPY,
    count_rows,
    damaged_error,
    outcomes_name,
    part_name,
    read_part,
    read_shard,
    receipt_name,
    write_shard,
)
from benchbuilder.pipeline.store.manifest import Manifest

_DRAFT, _OLD = ".draft", ".old"
_SCRATCH = "scratch-"
_MARK = "draft.json"


class Store:
    """The steps of one build, below `folder`.

    Everything in it can be made again, except `workplace` (people's work) and `journal` (paid replies). `workplace` may
    be that of another store, if people worked for both. Several builds may share a `journal`. With `sync`, a step is
    on disk before its manifest counts.
    """

    def __init__(
        self, folder: Path, workplace: Path | None = None, journal: Path | None = None, *, sync: bool = True
    ) -> None:
        self._unsynced: set[Path] | None = set() if sync else None
        """Folders whose newest names are not on disk yet; the next commit syncs them."""
        self.folder = folder
        self.steps = folder / "store" / "steps"
        self.cache = folder / "store" / "cache"
        self.workplace = workplace or folder / "annotation"
        self.checksums = folder / "store" / "checksums.json"
        self.journal = journal or folder / "replies.sqlite"

    @contextmanager
    def lock(self) -> Generator[None]:
        """Hold the store for one build; StoreError if another build holds it."""
        make_folder(self.folder / "store")
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
            self._remove_copies()
            self._sync_rest()
            lock.release()

    def _sync_rest(self) -> None:
        if self._unsynced:
            sync_paths(self._unsynced)
            self._unsynced.clear()

    def _remove_copies(self) -> None:
        """Remove the memory-mapped copies of tables; the next build may have other rows."""
        for path in self.cache.glob(f"{TABLE_COPY}*"):
            with suppress(OSError):  # some systems do not remove files that are being read
                path.unlink()

    @contextmanager
    def open_scratch(self) -> Generator[Store]:
        """A temporary store on the same file system."""
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self.folder / "store") as folder:
            yield Store(Path(folder), sync=False)

    def _recover(self) -> None:
        """Finish or undo what a killed build left half done when it replaced a step."""
        for scratch in (self.folder / "store").glob(f"{_SCRATCH}*"):
            shutil.rmtree(scratch)
        for old in self.steps.glob(f"*/*{_OLD}"):
            place = old.with_name(old.name.removesuffix(_OLD))
            if place.exists():
                shutil.rmtree(old)
            else:
                old.rename(place)

    def step_folder(self, step: str, key: str) -> Path:
        """The folder of a step under a key."""
        return self.steps / step / key[:20]

    def manifest(self, step: str, key: str) -> Manifest | None:
        """The manifest of a step under a key, if it was committed."""
        return self._read(self.step_folder(step, key) / "manifest.json")

    def manifests(self, step: str) -> list[Manifest]:
        """Every manifest of a step, under whichever key, the latest first."""
        latest, paths = self.latest(step), sorted((self.steps / step).glob("*/manifest.json"))
        manifests = [manifest for path in paths if (manifest := self._read(path)) is not None]
        return sorted(manifests, key=lambda manifest: manifest != latest)

    def has_former_layout(self, step: str) -> bool:
        """Whether an earlier version of benchbuilder built a step last."""
        latest = self.steps / step / "latest"
        return latest.exists() and _is_former(latest.parent / latest.read_text(encoding="utf-8") / "manifest.json")

    def former_layout_note(self) -> str:
        """What to say of a folder that an earlier version of benchbuilder built; empty for other folders."""
        steps = [latest.parent.name for latest in self.steps.glob("*/latest")]
        if not steps or not all(map(self.has_former_layout, steps)):
            return ""
        return (
            f"{display_path(self.folder)} was built by an earlier version of benchbuilder, with other file names: "
            "building again makes every step anew; replies that were paid for stay in use"
        )

    def _read(self, path: Path) -> Manifest | None:
        try:
            return Manifest.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            if _is_former(path):
                return None
            raise StoreError(
                f"the manifest {path} is damaged",
                why=str(error.errors()[0]["msg"]),
                next=f"delete {path.parent}; the step is made again",
            ) from error

    def latest(self, step: str) -> Manifest | None:
        """The manifest of a step as it was last committed or reused, under any key."""
        try:
            key = (self.steps / step / "latest").read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return self._read(self.steps / step / key / "manifest.json")

    def rows(self, manifest: Manifest) -> Table[Any]:
        """The rows of a committed step, memory-mapped."""
        cls = row_class(manifest.row)
        return Table(self._concat(manifest, part_name, schema_of(cls)), cls)

    def outcomes(self, manifest: Manifest) -> pa.Table:
        """The outcomes of a committed step's branches."""
        return self._concat(manifest, outcomes_name, OUTCOME_SCHEMA)

    def parts(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files that hold the rows of a committed step, in order; StoreError if they hold fewer or more."""
        place = self.step_folder(manifest.step, manifest.key)
        parts = tuple(place / part_name(index) for index in range(manifest.shards))
        if (rows := sum(count_rows(part) for part in parts)) != manifest.rows:
            raise damaged_error(place, f"its manifest counts {manifest.rows} rows, its files hold {rows}")
        return parts

    def outcome_parts(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files that hold the outcomes of a committed step's branches, in order."""
        place = self.step_folder(manifest.step, manifest.key)
        return tuple(place / outcomes_name(index) for index in range(manifest.shards))

    def _concat(self, manifest: Manifest, name: Callable[[int], str], schema: pa.Schema) -> pa.Table:
        place = self.step_folder(manifest.step, manifest.key)
        tables = [read_part(place / name(index), schema) for index in range(manifest.shards)]
        table = pa.concat_tables([schema.empty_table(), *tables])
        if name is part_name and table.num_rows != manifest.rows:
            raise damaged_error(place, f"its manifest counts {manifest.rows} rows, its files hold {table.num_rows}")
        return table

    def draft(self, step: str, key: str, shape: Mapping[str, Any]) -> StepDraft:
        """A step in the making; shards that an interrupted build committed under the same `shape` stay."""
        return StepDraft(self.step_folder(step, key), shape, self._unsynced)


class StepDraft:
    """A step in the making: a folder next to `place` that replaces it when the step is committed.

    `shape` says how the input was cut; shards of another shape are removed. A build that is killed loses neither the
    former step nor the new shards. All files of a step are on disk before its manifest counts, together with the
    folders in `unsynced`; ``None`` leaves that out. A power cut may undo the last rename: then the next build finds the
    draft with all its shards.
    """

    def __init__(self, place: Path, shape: Mapping[str, Any], unsynced: set[Path] | None = None) -> None:
        self.target, self._unsynced = place, unsynced
        self.folder = place.with_name(place.name + _DRAFT)
        mark = self.folder / _MARK
        text = json.dumps(shape, sort_keys=True)
        if not mark.exists() or mark.read_text(encoding="utf-8") != text:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            write_atomically(mark, text, sync=False)

    def has_shard(self, index: int) -> bool:
        """Whether shard `index` is complete."""
        return (self.folder / receipt_name(index)).exists()

    def commit_shard(self, index: int, shard: Shard) -> None:
        """Write a shard."""
        write_shard(self.folder, index, shard)

    def load_shard(self, index: int, row: type[Row]) -> Shard:
        """A committed shard."""
        return read_shard(self.folder, index, row)

    def row_counts(self, count: int) -> tuple[int, int]:
        """The number of rows and of outcomes in the first `count` shards."""
        names = (part_name, outcomes_name)
        rows, outcomes = (sum(count_rows(self.folder / name(index)) for index in range(count)) for name in names)
        return rows, outcomes

    def commit_step(self, manifest: Manifest) -> None:
        """Write the manifest and put the folder in the place of the step."""
        self._remove_unused_files(manifest.shards)
        write_atomically(self.folder / "manifest.json", manifest.model_dump_json(indent=1), sync=False)
        if self._unsynced is not None:  # in one group: the manifest counts only in the folder's final place
            sync_paths([*self._unsynced, self.folder, *self.folder.iterdir()])
            self._unsynced.clear()
        old = self.target.with_name(self.target.name + _OLD)
        if self.target.exists():
            self.target.rename(old)
        self.folder.rename(self.target)
        if self._unsynced is not None:
            self._unsynced |= {self.target.parent, self.target.parent.parent}
            if old.exists():  # it goes when the new one is sure to stay
                sync_paths(self._unsynced)
        shutil.rmtree(old, ignore_errors=True)
        mark_latest(self.target)

    def _remove_unused_files(self, shards: int) -> None:
        """Remove files that are no part of the step: half-written ones, and further shards of an interrupted build."""
        names = {name(index) for index in range(shards) for name in (part_name, outcomes_name, receipt_name)}
        for path in self.folder.iterdir():
            if path.name not in names | {_MARK}:
                path.unlink()


def _is_former(manifest: Path) -> bool:
    """Whether a manifest is of the former layout, which had `asked` in the place of `key_inputs`."""
    with suppress(OSError, ValueError):
        data: Any = json.loads(manifest.read_text(encoding="utf-8"))
        return isinstance(data, dict) and "asked" in data
    return False


def mark_latest(folder: Path) -> None:
    """Record `folder` as the one that its step was last committed or reused under."""
    latest = folder.parent / "latest"
    if not latest.exists() or latest.read_text(encoding="utf-8") != folder.name:
        write_atomically(latest, folder.name, sync=False)
