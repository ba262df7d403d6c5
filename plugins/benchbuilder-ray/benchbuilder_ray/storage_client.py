"""The storage that all machines see: files under the names of their contents."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import InstallationError, ServiceError

_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "r2"})
"""Storages where a file is there at once when it is whole."""
_PAUSES = (0.1, 0.5, 2.0, 5.0)
"""Seconds to wait for a file that another machine has written and this one does not see yet."""


@dataclass(frozen=True)
class StoredFile:
    """A file on the storage: its place there, the SHA-256 of its content, its bytes."""

    place: str
    sha256: str
    size: int


@dataclass(frozen=True)
class StorageLocation:
    """Where the storage is; travels to workers, each of which opens it for itself."""

    url: str
    options: Mapping[str, Any]


def sha256_of(file: Path) -> str:
    """The hex digest of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class StorageClient:
    """One that is open; safe to use from several threads."""

    def __init__(self, place: StorageLocation) -> None:
        """InstallationError if the library for this sort of storage is missing."""
        import fsspec  # pyright: ignore[reportMissingTypeStubs]

        self.where = place
        scheme = place.url.partition("://")[0]
        options = {"auto_mkdir": True, **place.options} if scheme in ("file", "local") else dict(place.options)
        try:
            filesystem, root = fsspec.core.url_to_fs(place.url, **options)
        except (ImportError, ValueError) as error:
            raise InstallationError(
                f"the storage {place.url} cannot be opened",
                why=str(error),
                next="install the library for it on every machine (pip install 'benchbuilder-ray[s3]' for s3://)",
            ) from error
        self._files: Any = filesystem
        self._root = str(root).rstrip("/")
        self._whole = scheme in _WHOLE

    def holds(self, stored: StoredFile) -> bool:
        """Whether the file is there, whole."""
        with self._as_service_error(f"look for {stored.place}"):
            try:
                return int(self._files.info(self._full_path(stored.place))["size"]) == stored.size
            except FileNotFoundError:
                return False

    def put(self, file: Path, stored: StoredFile) -> None:
        """Upload a file; under its name it is there at once when it is whole."""
        with self._as_service_error(f"write {stored.place}"):
            if self._whole:
                self._files.put_file(str(file), self._full_path(stored.place))
                return
            draft = self._full_path(f"{stored.place}.{uuid.uuid4().hex}")
            self._files.put_file(str(file), draft)
            self._files.mv(draft, self._full_path(stored.place))

    def get(self, stored: StoredFile, file: Path) -> None:
        """Download a file to `file`, where it is at once when it is whole; ServiceError if it is another one."""
        draft = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
        try:
            with self._as_service_error(f"read {stored.place}"):
                self._fetch(stored.place, draft)
            if draft.stat().st_size != stored.size or sha256_of(draft) != stored.sha256:
                raise ServiceError(
                    f"{stored.place} on the storage {self.where.url} is not what was written there",
                    why=f"{draft.stat().st_size} bytes instead of {stored.size}, or another content",
                    next="remove this file, and give the same command again",
                )
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)

    def _fetch(self, place: str, draft: Path) -> None:
        for pause in _PAUSES:
            try:
                return self._files.get_file(self._full_path(place), str(draft))
            except FileNotFoundError:
                time.sleep(pause)
        return self._files.get_file(self._full_path(place), str(draft))

    def remove(self, folder: str) -> None:
        """Remove a folder, if there is one."""
        with self._as_service_error(f"remove {folder}"), contextlib.suppress(FileNotFoundError):
            self._files.invalidate_cache()
            self._files.rm(self._full_path(folder), recursive=True)

    def folders(self, place: str) -> list[str]:
        """The names of the folders in a folder."""
        with self._as_service_error(f"list {place}"):
            self._files.invalidate_cache()
            try:
                found: list[dict[str, Any]] = self._files.ls(self._full_path(place), detail=True)
            except FileNotFoundError:
                return []
        return sorted(str(one["name"]).rstrip("/").rpartition("/")[2] for one in found if one["type"] == "directory")

    def write(self, place: str, text: str) -> None:
        """Write a short text."""
        with self._as_service_error(f"write {place}"):
            self._files.pipe_file(self._full_path(place), text.encode())

    def text(self, place: str) -> str | None:
        """A short text; None if there is none."""
        with self._as_service_error(f"read {place}"):
            try:
                return bytes(self._files.cat_file(self._full_path(place))).decode()
            except FileNotFoundError:
                return None

    def _full_path(self, place: str) -> str:
        return f"{self._root}/{place}"

    @contextlib.contextmanager
    def _as_service_error(self, action: str) -> Generator[None]:
        """Failures of the storage as ServiceError."""
        try:
            yield
        except _storage_exceptions() as error:
            raise ServiceError(
                f"cannot {action} on the storage {self.where.url}",
                why=f"{type(error).__name__}: {error}"[:500],
                next="check that this machine sees the storage and may write there; the same command then goes on",
            ) from error


def _storage_exceptions() -> tuple[type[Exception], ...]:
    """What the libraries of storages raise."""
    with contextlib.suppress(ImportError):
        from botocore.exceptions import BotoCoreError, ClientError  # pyright: ignore[reportMissingTypeStubs]

        return OSError, BotoCoreError, ClientError
    return (OSError,)


def link_file(source: Path, target: Path) -> None:
    """Make `target` the same file as `source`; whichever process comes first does it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.link(source, target)
