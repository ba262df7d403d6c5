"""Checksums of files and folders, remembered by path, size, times and inode."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

from benchbuilder.core import DataError, open_given_file, read_sealed_json, seal_json, write_atomically


class Checksums:
    """SHA-256 of files; a file whose path, size, times and inode are unchanged is not read again.

    With `verify`, every file is read once more and nothing remembered counts. The same holds if `memory`, the file in
    which they are kept, is damaged.
    """

    def __init__(self, memory: Path, *, verify: bool = False) -> None:
        self._memory = memory
        self._known: dict[str, list[object]] = {}
        self._has_news = True
        if not verify:
            with contextlib.suppress(FileNotFoundError, ValueError, KeyError):
                self._known = read_sealed_json(memory)["files"]
                self._has_news = False

    def sha256_of(self, path: Path) -> str:
        """Hex digest of a file, or of the relative names and files of a folder or glob; DataError if there is none."""
        return self._sha256_by(path, self._of_file)

    def remembered_sha256(self, path: Path) -> str:
        """The same without reading; DataError if a file is missing, unknown or changed."""
        return self._sha256_by(path, self._known_sha256)

    def _sha256_by(self, path: Path, of_file: Callable[[Path], str]) -> str:
        if path.is_dir():
            return _sha256_of_files(path, path.rglob("*"), of_file)
        if any(mark in path.name for mark in "*?[") and not path.exists():
            return _sha256_of_files(path.parent, path.parent.glob(path.name), of_file)
        return of_file(path)

    def _known_sha256(self, path: Path) -> str:
        known = self._known.get(str(path))
        if known is None or known[:-1] != _file_stamp(path):
            raise DataError(f"{path} was not read before", next="read it")
        return str(known[-1])

    def _of_file(self, path: Path) -> str:
        mark = _file_stamp(path)
        known = self._known.get(str(path))
        if known is not None and known[:-1] == mark:
            return str(known[-1])
        with _reading(path), open_given_file(path, most_bytes=None) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        self._known[str(path)] = [*mark, digest]
        self._has_news = True
        return digest

    def save(self) -> None:
        """Save the checksums for the next build, if there are new ones."""
        if self._has_news:
            write_atomically(self._memory, seal_json({"files": dict(sorted(self._known.items()))}), sync=False)


def _sha256_of_files(folder: Path, paths: Iterable[Path], of_file: Callable[[Path], str]) -> str:
    files = sorted(path for path in paths if path.is_file())
    parts = [(file.relative_to(folder).as_posix(), of_file(file)) for file in files]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def _file_stamp(path: Path) -> list[object]:
    """Size, times and inode of a file: they tell whether it changed."""
    with _reading(path):
        stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


@contextlib.contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(
            f"cannot read {path}", why=error.strerror or str(error), next="check the path in the recipe"
        ) from error
