"""What a machine of the cluster keeps: each shared file once, and a tree of them for every worker."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from benchbuilder.core import ServiceError
from filelock import FileLock, Timeout

from benchbuilder_ray.storage_client import StorageClient, StoredFile, link_file

_UNUSED_S = 7 * 24 * 3600
"""Seconds after which a shared file that no worker has asked for is removed."""


class MachineCache:
    """Below the folder for temporary files of the machine (``TMPDIR`` says where), this user's own."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.gettempdir()) / f"benchbuilder-ray-{os.getuid()}"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = self.folder.lstat()
        if self.folder.is_symlink() or stat.st_uid != os.getuid() or stat.st_mode & 0o022:
            raise ServiceError(
                f"{self.folder} can be written by others", why="workers take code and data from there",
                next="remove it, or give this machine another TMPDIR before `ray start`",
            )  # fmt: skip
        for name in ("objects", "trees"):
            (self.folder / name).mkdir(exist_ok=True)

    def fetch(self, stored: StoredFile, storage: StorageClient) -> Path:
        """A shared file; downloaded by the first worker of this machine that asks, the others wait for it."""
        file = self.folder / "objects" / stored.sha256
        with FileLock(self.folder / "objects" / f".{stored.sha256}.lock"):
            if not file.exists() or file.stat().st_size != stored.size:
                storage.get(stored, file)
                file.chmod(0o400)
            os.utime(file)
        return file

    def remove_unused(self) -> None:
        """Remove trees whose workers are dead, and shared files that were not asked for in a week."""
        for lock in (self.folder / "trees").glob("*.lock"):
            try:
                with FileLock(lock, timeout=0):
                    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                    lock.unlink(missing_ok=True)
            except Timeout:
                continue
        for file in (self.folder / "objects").glob("[0-9a-f]*"):
            if file.stat().st_mtime < time.time() - _UNUSED_S:
                with FileLock(self.folder / "objects" / f".{file.name}.lock"):
                    file.unlink(missing_ok=True)


class WorkerFiles:
    """A worker's own picture of the coordinator's files: each under the path that it has there."""

    def __init__(self, cache: MachineCache, storage: StorageClient) -> None:
        self._cache, self._storage = cache, storage
        self.folder = cache.folder / "trees" / uuid.uuid4().hex
        self._lock = FileLock(self.folder.with_suffix(".lock"))
        self._lock.acquire()
        self.folder.mkdir()
        self._passing: dict[Path, StoredFile] = {}

    def local_path(self, path: Path) -> Path:
        """Where a file or folder of the coordinator lies here."""
        return self.folder.joinpath(*path.parts[1:])

    def lay_out_shared(self, files: Iterable[tuple[Path, StoredFile | None]]) -> None:
        """Lay out files that every shard needs; a folder has no content."""
        for path, stored in files:
            if stored is None:
                self.local_path(path).mkdir(parents=True, exist_ok=True)
            else:
                link_file(self._cache.fetch(stored, self._storage), self.local_path(path))

    def lay_out(self, files: Iterable[tuple[Path, StoredFile]]) -> None:
        """Lay out the files of the next shard, and take away those that only the last one needed."""
        wanted = dict(files)
        for path in [path for path, stored in self._passing.items() if wanted.get(path) != stored]:
            self.local_path(path).unlink(missing_ok=True)
            del self._passing[path]
        for path, stored in wanted.items():
            place = self.local_path(path)
            if path not in self._passing and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                self._storage.get(stored, place)
                self._passing[path] = stored

    def new_draft_folder(self) -> Path:
        """An empty folder for what is made next."""
        return Path(tempfile.mkdtemp(prefix="made-", dir=self.folder))

    def remove(self) -> None:
        """Take it away."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.release()
        self.folder.with_suffix(".lock").unlink(missing_ok=True)
