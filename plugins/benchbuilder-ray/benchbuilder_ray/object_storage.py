"""What the build has put on the storage: each content once."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path

from benchbuilder.core import ServiceError

from benchbuilder_ray.storage_client import StorageClient, StorageLocation, StoredFile, sha256_of

SHARED_FOLDER = "shared"
RUNS_FOLDER = "runs"
_OWNER = "owner"
_TRIES, _PAUSE_S = 20, 0.2


def _pid_space() -> str:
    """What says in which space of process ids this process is; empty where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{socket.gethostname()} {boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


class ObjectStorage:
    """Files on the storage. `shared` ones stay there for later builds; those of this run go with it."""

    def __init__(self, place: StorageLocation) -> None:
        self.storage = StorageClient(place)
        self.run = f"{RUNS_FOLDER}/{uuid.uuid4().hex}"
        self._marks: dict[tuple[int, int, int, int], str] = {}
        self._stored: set[str] = set()
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._guard = threading.Lock()

    def open(self) -> None:
        """Begin this run's folder; folders that killed builds of this machine left are removed."""
        for name in self.storage.folders(RUNS_FOLDER):
            space, _, pid = (self.storage.text(f"{RUNS_FOLDER}/{name}/{_OWNER}") or "").rpartition(" ")
            if space and space == _pid_space() and not _is_alive(int(pid)):
                self.storage.remove(f"{RUNS_FOLDER}/{name}")
        self.storage.write(f"{self.run}/{_OWNER}", f"{_pid_space()} {os.getpid()}")

    @property
    def token(self) -> str:
        """A file that every machine must see."""
        return f"{self.run}/{_OWNER}"

    def upload(self, file: Path, *, shared: bool) -> StoredFile:
        """The file on the storage; uploaded unless its content is there."""
        digest, size = self._digest(file), file.stat().st_size
        passing = self.stored_as(digest, size)
        stored = self.stored_as(digest, size, shared=shared and passing.place not in self._stored)
        with self._guard:
            lock = self._locks[stored.place]
        with lock:
            if stored.place not in self._stored:
                if stored == passing or not self.storage.holds(stored):
                    self.storage.put(file, stored)
                self._stored.add(stored.place)
        return stored

    def stored_as(self, digest: str, size: int, *, shared: bool = False) -> StoredFile:
        """Where a content lies."""
        top = SHARED_FOLDER if shared else f"{self.run}/files"
        return StoredFile(f"{top}/{digest[:2]}/{digest}", digest, size)

    def fetch(self, stored: StoredFile, file: Path) -> None:
        """Bring a file that a worker has made; it is not uploaded again when a later step reads it."""
        self.storage.get(stored, file)
        self._marks[_file_signature(file)] = stored.sha256
        self._stored.add(stored.place)

    def _digest(self, file: Path) -> str:
        mark = _file_signature(file)
        known = self._marks.get(mark)
        if known is None:
            known = self._marks[mark] = sha256_of(file)
        return known

    def close(self) -> None:
        """Remove what belongs to this run; what cannot be removed, the next build of this machine takes away.

        Workers that were told to end may still write for a moment.
        """
        for _ in range(_TRIES):
            try:
                self.storage.remove(f"{self.run}/files")
                if "files" not in self.storage.folders(self.run):
                    self.storage.remove(self.run)
                    return
            except ServiceError:
                pass
            time.sleep(_PAUSE_S)


def _file_signature(file: Path) -> tuple[int, int, int, int]:
    """What stays the same when a file is renamed, and not when it is written."""
    stat = file.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
