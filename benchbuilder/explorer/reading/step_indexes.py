"""The indexes of ids of large steps: kept in the user's cache folder, made in the background when they are missing."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchbuilder.config import user_cache_folder
from benchbuilder.core import DamagedError, atomic_path, combined_column, open_given_file
from benchbuilder.explorer.reading.build_folders import BuildFolder
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


_MAGIC, _HEADER = b"bbids001", struct.Struct("<8sQ")
_DIGITS, _USED = 20, 16
"""An id ends with so many hexadecimal digits, of which the first are in the index."""
_ROWS_AT_ONCE = 1_250_000
"""About so many ids are in memory while an index is made; a larger step is read several times."""
MOST_ROWS = 1 << 32
"""A place is a number of 32 bits."""
BitsArray = npt.NDArray[np.uint64]


class IdFile:
    """An index that was written; nothing of it is in memory but the pages that look-ups touch."""

    def __init__(self, file: Path) -> None:
        """Open `file`; ValueError if it is no whole index."""
        with open_given_file(file, most_bytes=None) as stream:
            head = stream.read(_HEADER.size)
        magic, count = _HEADER.unpack(head) if len(head) == _HEADER.size else (b"", 0)
        if magic != _MAGIC or file.stat().st_size != _HEADER.size + 12 * count:
            raise ValueError(f"{file} is not a whole index")
        ends = _HEADER.size + 8 * count
        self._bits: Any = np.memmap(file, "<u8", "r", _HEADER.size, (count,)) if count else np.empty(0, "<u8")
        self._places: Any = np.memmap(file, "<u4", "r", ends, (count,)) if count else np.empty(0, "<u4")

    def places(self, row_id: str) -> list[int]:
        """Where this id may be, as numbers of rows in the step; other ids with the same first bits are there too."""
        bits = _bits_of(pa.array([row_id], pa.string()))[1]
        if not len(bits):
            return []
        first, last = (int(np.searchsorted(self._bits, bits[0], side)) for side in ("left", "right"))
        return sorted(map(int, self._places[first:last]))


def write_index(file: Path, rows: int, columns: Callable[[], Iterable[Any]]) -> None:
    """Write the index of a column; `columns` gives its pieces in the order of the rows, as often as it is called.

    `file` has its name only once it is complete. Empty texts are left out.
    """
    passes = max(1, -(-rows // _ROWS_AT_ONCE))
    places: list[npt.NDArray[np.uint32]] = []
    with atomic_path(file, sync=False) as temporary, temporary.open("wb") as stream:
        stream.write(bytes(_HEADER.size))
        for number in range(passes):
            bits, at = _in_order(columns(), number, passes)
            stream.write(bits.astype("<u8", copy=False).tobytes())
            places.append(at)
        count = sum(map(len, places))
        for at in places:
            stream.write(at.astype("<u4", copy=False).tobytes())
        stream.seek(0)
        stream.write(_HEADER.pack(_MAGIC, count))


def _in_order(columns: Iterable[Any], number: int, passes: int) -> tuple[BitsArray, npt.NDArray[np.uint32]]:
    """The first bits of the ids that belong to one pass of several, in order, with their places."""
    found: list[tuple[BitsArray, npt.NDArray[np.uint32]]] = []
    for first, column in _numbered(columns):
        lines, bits = _bits_of(column)
        chosen = (bits >> np.uint64(48)) * np.uint64(passes) >> np.uint64(16) == number
        found.append((bits[chosen], (lines[chosen] + first).astype(np.uint32)))
    bits = np.concatenate([np.empty(0, np.uint64), *(pair[0] for pair in found)])
    places = np.concatenate([np.empty(0, np.uint32), *(pair[1] for pair in found)])
    order = np.argsort(bits, kind="stable")
    return bits[order], places[order]


def _numbered(columns: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    first = 0
    for column in columns:
        yield first, column
        first += len(column)


def _bits_of(ids: Any) -> tuple[npt.NDArray[np.int64], BitsArray]:
    """The lines of the ids of an array that are long enough, and their first bits."""
    _, offsets_buffer, data = ids.buffers()
    if not len(ids) or data is None:
        return np.empty(0, np.int64), np.empty(0, np.uint64)
    offsets = np.frombuffer(memoryview(offsets_buffer), np.int32)[ids.offset : ids.offset + len(ids) + 1]
    lines = np.flatnonzero(np.diff(offsets) >= _DIGITS)
    begins = offsets[1:][lines] - _DIGITS
    signs = np.frombuffer(memoryview(data), np.uint8)[begins[:, None] + np.arange(_USED)]
    digits = ((signs & 15) + 9 * (signs >> 6)).astype(np.uint8)
    pairs = digits[:, ::2] << 4 | digits[:, 1::2] & 15
    return lines, np.ascontiguousarray(pairs).view(">u8").ravel().astype(np.uint64)
