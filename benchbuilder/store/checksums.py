"""Checksums of files and folders, remembered by path, size, times and inode."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from benchbuilder.errors import DataError


class Checksums:
    """SHA-256 of files; a file whose path, size, times and inode are as before is not read again."""

    def __init__(self, memory: Path) -> None:
        self._memory = memory
        self._known: dict[str, list[object]] = {}
        if memory.exists():
            try:
                self._known = json.loads(memory.read_text(encoding="utf-8"))
            except ValueError:
                self._known = {}

    def of(self, path: Path) -> str:
        """Hex digest of a file, or of the relative names and files of a folder or glob; DataError if there is none."""
        if path.is_dir():
            return self._of_files(path, path.rglob("*"))
        if any(mark in path.name for mark in "*?[") and not path.exists():
            return self._of_files(path.parent, path.parent.glob(path.name))
        return self._of_file(path)

    def _of_files(self, folder: Path, paths: Iterable[Path]) -> str:
        files = sorted(path for path in paths if path.is_file())
        parts = [(file.relative_to(folder).as_posix(), self._of_file(file)) for file in files]
        return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()

    def _of_file(self, path: Path) -> str:
        try:
            stat = path.stat()
            mark: list[object] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            known = self._known.get(str(path))
            if known is not None and known[:-1] == mark:
                return str(known[-1])
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise DataError(
                f"cannot read {path}", why=error.strerror or str(error), next="check the path in the recipe"
            ) from error
        self._known[str(path)] = [*mark, digest]
        return digest

    def save(self) -> None:
        """Write the memory down."""
        self._memory.parent.mkdir(parents=True, exist_ok=True)
        draft = self._memory.with_suffix(".draft")
        draft.write_text(json.dumps(self._known, sort_keys=True), encoding="utf-8")
        draft.replace(self._memory)
