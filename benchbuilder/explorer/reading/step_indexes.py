"""The indexes of ids of large steps: kept in the user's cache folder, made in the background when they are missing."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from benchbuilder.config import user_cache_folder
from benchbuilder.core import DamagedError, combined_column
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.id_index import MOST_ROWS, IdFile, write_index
from benchbuilder.explorer.reading.step_parts import StepParts, parts_of
from benchbuilder.pipeline import Manifest

LARGE_STEP = 1_000_000
"""A step of more rows gets an index; in a smaller one, reading all ids takes a tenth of a second."""
_KEPT_SECONDS = 30 * 86_400.0
"""An index that was not used for so long is removed."""
IdColumn = Literal["id", "row"]


class StepIndexes:
    """The indexes of a build, as an inspector asks for them."""

    def __init__(self, build: BuildFolder) -> None:
        self._build = build

    def places(self, manifest: Manifest, column: IdColumn, ids: Set[str]) -> dict[str, list[tuple[int, int]]] | None:
        """The parts and lines of a step where a column has each of `ids`; ``None`` if the step must be read for it."""
        parts = parts_of(self._build, manifest)
        if _rows(parts, column) <= LARGE_STEP:
            return None
        index = _maker.index(parts, column, makes=self._build.keeps_indexes)
        if index is None:
            return None
        found: dict[str, list[tuple[int, int]]] = {}
        for row_id in sorted(ids):
            places = [_part_and_line(parts, column, number) for number in index.places(row_id)]
            if here := [place for place in places if _id_at(parts, column, *place) == row_id]:
                found[row_id] = here
        return found


def _rows(parts: StepParts, column: IdColumn) -> int:
    return parts.manifest.rows if column == "id" else sum(n for *_, n in parts.manifest.counts)


def _start(parts: StepParts, column: IdColumn, part: int) -> int:
    return parts.row_start(part) if column == "id" else parts.outcome_start(part)


def _part_and_line(parts: StepParts, column: IdColumn, number: int) -> tuple[int, int]:
    part = next(part for part in range(parts.count) if number < _start(parts, column, part + 1))
    return part, number - _start(parts, column, part)


def _column(parts: StepParts, column: IdColumn, part: int) -> Any:
    read = parts.row_columns if column == "id" else parts.outcome_columns
    return combined_column(read(part, [column]), column)


def _id_at(parts: StepParts, column: IdColumn, part: int, line: int) -> str:
    return _column(parts, column, part)[line].as_py()


class _IndexMaker:
    """Opens indexes, and makes those that are missing in one thread, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, IdFile | None] = {}
        """The indexes that are open; ``None`` while one is made, and for those that cannot be."""
        self._waiting: deque[tuple[Path, StepParts, IdColumn]] = deque()
        self._thread: threading.Thread | None = None

    def index(self, parts: StepParts, column: IdColumn, *, makes: bool) -> IdFile | None:
        """The index of a column, if it is there; with `makes`, it is made from now on if it is missing."""
        file = index_file(parts.manifest, column)
        with self._lock:
            if file in self._known:
                return self._known[file]
            index = _opened(file)
            if index is None and not makes:
                return None
            self._known[file] = index
            if index is None and _rows(parts, column) < MOST_ROWS:
                self._waiting.append((file, parts, column))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._make_all, name="indexes of ids")
                    self._thread.start()
            return index

    def wait(self) -> None:
        """Return when nothing is made any more."""
        while (thread := self._thread) is not None:
            thread.join()

    def _make_all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                file, parts, column = self._waiting.popleft()
            with suppress(OSError, DamagedError, _ServerEndsError):  # without an index, pages read the step
                remove_old_indexes(file.parent)
                write_index(file, _rows(parts, column), lambda parts=parts, column=column: _columns(parts, column))
                index = _opened(file)
                with self._lock:
                    self._known[file] = index
            pa.default_memory_pool().release_unused()


_maker = _IndexMaker()


class _ServerEndsError(Exception):
    """The server ends while an index is made."""


def _columns(parts: StepParts, column: IdColumn) -> Iterator[Any]:
    for part in range(parts.count):
        if not threading.main_thread().is_alive():
            raise _ServerEndsError
        yield _column(parts, column, part)


def wait_for_indexes() -> None:
    """Return when every index that was asked for is made, or cannot be."""
    _maker.wait()


def index_file(manifest: Manifest, column: IdColumn) -> Path:
    """The file of the index of a column of a step."""
    digest = hashlib.sha256(f"{manifest.digest} {manifest.outcomes} {manifest.rows} {column}".encode()).hexdigest()
    return user_cache_folder(os.environ) / "ids" / f"{digest}.ids"


def _opened(file: Path) -> IdFile | None:
    """An index of the cache folder, which counts as used now; none if there is none, or it is damaged."""
    with suppress(OSError, ValueError):
        index = IdFile(file)
        with suppress(OSError):
            os.utime(file)
        return index
    return None


def remove_old_indexes(folder: Path) -> None:
    """Remove what was not used for a month, and what a killed server left half done."""
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > _KEPT_SECONDS:
                    file.unlink()
