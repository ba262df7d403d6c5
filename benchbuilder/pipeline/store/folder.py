"""The store of one build: a folder per step and key, shards committed by rename, the manifest last.

What is damaged is never taken for something else. A manifest holds a checksum of itself and those of all other files of
its step; the receipt of a shard does so for a step in the making. Files are compared before their rows are read, once
in a process as long as size and times stay the same. What follows from damage:

- A file or the manifest of a step: `DamagedError`. A build makes the step again; every other command ends with it.
- A manifest of another version of benchbuilder: the step counts as not built.
- A shard, its receipt or the mark of a draft: the shard, or all of the draft, is made again.
- The pointer `latest`: the step counts as not built before, and the next build writes it again.
"""

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

from benchbuilder.config import check_links, display_path
from benchbuilder.core import (
    DamagedError,
    Row,
    StoreError,
    Table,
    file_checksum,
    make_folder,
    move_into_place,
    read_given_file,
    row_class,
    schema_of,
    seal_json,
    sync_paths,
    write_atomically,
)
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.shards.files import (
    TABLE_COPY,
    check_files,
    count_rows,
    damaged_error,
    outcomes_name,
    part_name,
    read_part,
    read_receipt,
    read_shard,
    receipt_name,
    write_shard,
)
from benchbuilder.pipeline.store.manifest import MANIFEST_FILE, Manifest, is_of_other_version, read_manifest

_DRAFT, _OLD = ".draft", ".old"
_SCRATCH = "scratch-"
_MARK = "draft.json"
_KEY_CHARACTERS = 20


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
        self._checked: dict[Path, tuple[int, ...]] = {}
        """The files that had their checksums, with their sizes and times."""

    @contextmanager
    def lock(self) -> Generator[None]:
        """Hold the store for one build; StoreError if another build holds it, or a link leads out of it."""
        check_links(self.folder)
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
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.folder / "store"))
        try:
            yield Store(folder, sync=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the next build removes what is left of it

    def scratch_folders(self) -> list[Path]:
        """The folders of temporary stores; while nothing works here, those that killed commands left."""
        return sorted((self.folder / "store").glob(f"{_SCRATCH}*"))

    def _recover(self) -> None:
        """Finish or undo what a killed build left half done when it replaced a step."""
        for scratch in self.scratch_folders():
            shutil.rmtree(scratch)
        self._remove_copies()
        for old in self.steps.glob(f"*/*{_OLD}"):
            place = old.with_name(old.name.removesuffix(_OLD))
            if place.exists():
                shutil.rmtree(old)
            else:
                old.rename(place)

    def step_folder(self, step: str, key: str) -> Path:
        """The folder of a step under a key."""
        return self.steps / step / key[:_KEY_CHARACTERS]

    def draft_folder(self, folder: Path) -> Path:
        """Where a step in the making is that will be in `folder`."""
        return folder.with_name(folder.name + _DRAFT)

    def manifest(self, step: str, key: str) -> Manifest | None:
        """The manifest of a step under a key, if this version committed it; DamagedError if it is damaged."""
        return read_manifest(self.step_folder(step, key))

    def whole_manifest(self, step: str, key: str) -> Manifest | None:
        """The manifest of a step under a key, if it was committed and nothing of it is damaged."""
        with suppress(DamagedError):
            if (manifest := self.manifest(step, key)) is not None:
                self.check(manifest)
                return manifest
        return None

    def manifests(self, step: str) -> list[Manifest]:
        """Every whole manifest of a step, under whichever key, the latest first."""
        latest, manifests = _read_latest(self.steps / step), list[Manifest]()
        for path in sorted((self.steps / step).glob(f"*/{MANIFEST_FILE}")):
            with suppress(DamagedError):
                manifests += [manifest] if (manifest := read_manifest(path.parent)) is not None else []
        return sorted(manifests, key=lambda manifest: manifest.key[:_KEY_CHARACTERS] != latest)

    def has_former_layout(self, step: str) -> bool:
        """Whether another version of benchbuilder built a step last."""
        latest = _read_latest(self.steps / step)
        return latest is not None and is_of_other_version(self.steps / step / latest)

    def former_layout_note(self) -> str:
        """What to say of a folder that another version of benchbuilder built; empty for other folders."""
        steps = [latest.parent.name for latest in self.steps.glob("*/latest")]
        if not steps or not all(map(self.has_former_layout, steps)):
            return ""
        return (
            f"{display_path(self.folder)} was built by another version of benchbuilder: "
            "building again makes every step anew; replies that were paid for stay in use"
        )

    def latest(self, step: str) -> Manifest | None:
        """The manifest of a step as it was last committed or reused, under any key; DamagedError if it is damaged."""
        key = _read_latest(self.steps / step)
        return None if key is None else read_manifest(self.steps / step / key)

    def check(self, manifest: Manifest) -> None:
        """DamagedError if a file of a committed step does not have its checksum.

        A file is read again only if its size or times changed since this store compared it.
        """
        place = self.step_folder(manifest.step, manifest.key)
        stamps = {name: _stamp(place / name) for name in manifest.files}
        todo = {name: manifest.files[name] for name, stamp in stamps.items()
                if not stamp or self._checked.get(place / name) != stamp}  # fmt: skip
        check_files(place, todo)
        self._checked |= {place / name: stamps[name] for name in todo}

    def rows(self, manifest: Manifest) -> Table[Any]:
        """The rows of a committed step, memory-mapped."""
        cls = row_class(manifest.row)
        return Table(self._concat(manifest, part_name, schema_of(cls)), cls)

    def outcomes(self, manifest: Manifest) -> pa.Table:
        """The outcomes of a committed step's branches."""
        return self._concat(manifest, outcomes_name, OUTCOME_SCHEMA)

    def parts(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files that hold the rows of a committed step, in order; DamagedError if one is damaged."""
        self.check(manifest)
        place = self.step_folder(manifest.step, manifest.key)
        parts = tuple(place / part_name(index) for index in range(manifest.shards))
        if (rows := sum(count_rows(part) for part in parts)) != manifest.rows:
            raise damaged_error(place, f"its manifest counts {manifest.rows} rows, its files hold {rows}")
        return parts

    def outcome_parts(self, manifest: Manifest) -> tuple[Path, ...]:
        """The files that hold the outcomes of a committed step's branches, in order; DamagedError if one is damaged."""
        self.check(manifest)
        place = self.step_folder(manifest.step, manifest.key)
        return tuple(place / outcomes_name(index) for index in range(manifest.shards))

    def part_files(self, manifest: Manifest) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """The files with the rows and those with the outcomes of a committed step, not compared with checksums."""
        place, shards = self.step_folder(manifest.step, manifest.key), range(manifest.shards)
        return tuple(place / part_name(index) for index in shards), tuple(
            place / outcomes_name(index) for index in shards
        )

    def _concat(self, manifest: Manifest, name: Callable[[int], str], schema: pa.Schema) -> pa.Table:
        self.check(manifest)
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
        if not mark.exists() or read_given_file(mark) != text.encode():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            write_atomically(mark, text, sync=False)

    def has_shard(self, index: int) -> bool:
        """Whether shard `index` is complete and its files have their checksums."""
        if not (self.folder / receipt_name(index)).exists():
            return False
        try:
            check_files(self.folder, read_receipt(self.folder, index)["files"])
        except DamagedError:
            return False
        return True

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

    def commit_step(self, manifest: Manifest) -> Manifest:
        """Write the manifest with the checksums of all files and put the folder in the place of the step."""
        self._remove_unused_files(manifest.shards)
        manifest = manifest.model_copy(update={"files": self._checksums(manifest.shards)})
        write_atomically(self.folder / MANIFEST_FILE, seal_json(manifest.model_dump(mode="json"), indent=1), sync=False)
        if self._unsynced is not None:  # in one group: the manifest counts only in the folder's final place
            sync_paths([*self._unsynced, self.folder, *self.folder.iterdir()])
            self._unsynced.clear()
        old = self.target.with_name(self.target.name + _OLD)
        if self.target.exists():
            move_into_place(self.target, old)
        move_into_place(self.folder, self.target)
        if self._unsynced is not None:
            self._unsynced |= {self.target.parent, self.target.parent.parent}
            if old.exists():  # it goes when the new one is sure to stay
                sync_paths(self._unsynced)
        shutil.rmtree(old, ignore_errors=True)
        mark_latest(self.target)
        return manifest

    def _checksums(self, shards: int) -> dict[str, str]:
        checksums: dict[str, str] = {}
        for index in range(shards):
            checksums |= read_receipt(self.folder, index)["files"]
        small = [_MARK, *(receipt_name(index) for index in range(shards))]
        return checksums | {name: file_checksum(self.folder / name) for name in small}

    def _remove_unused_files(self, shards: int) -> None:
        """Remove files that are no part of the step: half-written ones, and further shards of an interrupted build."""
        names = {name(index) for index in range(shards) for name in (part_name, outcomes_name, receipt_name)}
        for path in self.folder.iterdir():
            if path.name not in names | {_MARK}:
                path.unlink()


def _stamp(path: Path) -> tuple[int, ...]:
    """Size, times and inode of a file; nothing if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def _read_latest(step_folder: Path) -> str | None:
    """The name of the folder that a step was last committed or reused under, if that is known."""
    try:
        key = read_given_file(step_folder / "latest").decode("ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return key if key.isalnum() else None


def is_draft(folder: Path) -> bool:
    """Whether a folder holds a step in the making."""
    return folder.name.endswith(_DRAFT)


def is_replaced(folder: Path) -> bool:
    """Whether a folder holds what a step in the same place replaces just now."""
    return folder.name.endswith(_OLD)


def restore_latest(step_folder: Path, folder: Path | None) -> None:
    """After folders of a step were removed: `latest` names one that is there, `folder` if it is, or it goes."""
    latest = _read_latest(step_folder)
    if latest is not None and (step_folder / latest).exists():
        return
    if folder is not None and folder.exists():
        mark_latest(folder)
        return
    (step_folder / "latest").unlink(missing_ok=True)
    with suppress(OSError):  # drafts may be left
        step_folder.rmdir()


def mark_latest(folder: Path) -> None:
    """Record `folder` as the one that its step was last committed or reused under."""
    if _read_latest(folder.parent) != folder.name:
        write_atomically(folder.parent / "latest", folder.name, sync=False)
