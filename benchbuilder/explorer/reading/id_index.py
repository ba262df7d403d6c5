"""An index of the ids in a column of a step: the first 64 bits of each in order, with its place, in one mapped file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchbuilder.core import atomic_path, open_given_file

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
