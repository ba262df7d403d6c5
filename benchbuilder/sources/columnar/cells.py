"""Cells of tables as spans of one byte buffer, and an index that numbers millions of ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

PADDING = 16
"""Bytes at the end of a buffer that belong to no cell, so that cells can be read word by word."""

_compute: Any = pc
_WORD = 8
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], np.uint64)
_HASH_FACTOR_1 = np.uint64(0x9E3779B97F4A7C15)
_HASH_FACTOR_2 = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Cells:
    """Texts in UTF-8: cell `n` is ``data[starts[n]:ends[n]]``; the last `PADDING` bytes of `data` are in no cell."""

    data: Bytes
    starts: Places
    ends: Places

    @classmethod
    def from_arrow(cls, texts: Any) -> Cells:
        """The cells of an Arrow array of strings; a null becomes an empty cell."""
        array: Any = texts.cast(pa.large_string())
        count = len(array)
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1] if count else np.zeros(1, int)
        low, high = int(ends[0]), int(ends[-1])
        buffer = np.zeros(high - low + PADDING, np.uint8)
        if high > low:
            buffer[: high - low] = np.frombuffer(data, np.uint8)[low:high]
        starts, stops = ends[:-1] - low, ends[1:] - low
        if array.null_count:
            stops = np.where(array.is_null().to_numpy(zero_copy_only=False), starts, stops)
        return cls(buffer, starts, stops)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def is_empty(self) -> Mask:
        """Which cells are empty."""
        return self.starts == self.ends

    def is_one_of(self, words: Iterable[bytes]) -> Mask:
        """Which cells are one of a few short words."""
        found, sizes = np.zeros(len(self), bool), self.ends - self.starts
        for word in words:
            rows = np.flatnonzero(sizes == len(word))
            same = self.data[self.starts[rows][:, None] + np.arange(len(word))] == np.frombuffer(word, np.uint8)
            found[rows] |= same.all(axis=1)
        return found

    def take(self, places: Any) -> Cells:
        """The cells at these positions, or those of a mask."""
        return Cells(self.data, self.starts[places], self.ends[places])

    def text(self, place: int) -> str:
        """The text of one cell."""
        return self.data[self.starts[place] : self.ends[place]].tobytes().decode()

    def to_arrow(self) -> pa.Array[Any]:
        """An array of strings; the cells must be in the order of the buffer."""
        count = len(self.starts)
        if not count:
            return pa.array([], pa.string())
        offsets: Any = np.empty(2 * count, np.int32)
        offsets[0::2], offsets[1::2] = self.starts, self.ends
        data: Any = self.data
        buffers = (pa.py_buffer(offsets), pa.py_buffer(data))
        texts: Any = pa.StringArray.from_buffers(2 * count - 1, *buffers)
        return texts.take(pa.array(np.arange(0, 2 * count - 1, 2)))

    def strip(self) -> Cells:
        """The cells without surrounding white space, as `str.strip` defines it."""
        return Cells.from_arrow(_compute.utf8_trim_whitespace(self.to_arrow()))

    def rpartition(self, separator: str) -> tuple[Mask, Cells, Cells]:
        """Which cells contain `separator`, and the texts before and after the last one, as `str.rpartition` does."""
        written = separator.encode()
        places = np.append(find_bytes(self.data, written), np.int64(0))
        last = np.searchsorted(places[:-1], self.ends - len(written), side="right") - 1
        place = places[last]
        marked = (last >= 0) & (place >= self.starts)
        middle = np.where(marked, place, self.starts)
        after = np.where(marked, place + len(written), self.starts)
        return marked, Cells(self.data, self.starts, middle), Cells(self.data, after, self.ends)

    def equal(self, other_cells: Cells) -> Mask:
        """Which cells equal the cell at the same position of `other_cells`."""
        lengths = self.ends - self.starts
        same = lengths == other_cells.ends - other_cells.starts
        words, other_words = eight_byte_words(self.data), eight_byte_words(other_cells.data)
        for offset in range(0, int(lengths.max(initial=0, where=same)), _WORD):
            rows = np.flatnonzero(same & (lengths > offset))
            mask = _MASKS[np.minimum(lengths[rows] - offset, _WORD)]
            pairs = words[self.starts[rows] + offset] ^ other_words[other_cells.starts[rows] + offset]
            same[rows] = (pairs & mask) == 0
        return same

    def hashes(self) -> NDArray[np.uint64]:
        """A hash of 64 bits for each cell, equal for equal texts."""
        lengths = self.ends - self.starts
        words, hashes = eight_byte_words(self.data), lengths.astype(np.uint64) * _HASH_FACTOR_2
        rows, offset = np.flatnonzero(lengths > 0), 0
        while len(rows):
            rest = lengths[rows] - offset
            word = words[self.starts[rows] + offset] & _MASKS[np.minimum(rest, _WORD)]
            mixed = (hashes[rows] ^ word) * _HASH_FACTOR_1
            hashes[rows] = (mixed ^ (mixed >> np.uint64(29))) * _HASH_FACTOR_2
            offset += _WORD
            rows = rows[rest > _WORD]
        return hashes ^ (hashes >> np.uint64(32))


def eight_byte_words(data: Bytes) -> NDArray[np.uint64]:
    """The eight bytes from each position on, as a number."""
    return np.ndarray((len(data) - _WORD + 1,), np.dtype("<u8"), data, strides=(1,))


def find_bytes(data: Bytes, mark: bytes) -> Places:
    """Every position of `mark`, also overlapping ones."""
    size = len(data) - len(mark) + 1 - PADDING
    if size <= 0:
        return np.zeros(0, np.int64)
    matches = data[:size] == mark[0]
    for offset, byte in enumerate(mark[1:], 1):
        matches &= data[offset : offset + size] == byte
    return np.flatnonzero(matches)


Numbers = NDArray[np.int32]

_MANY = 500_000


class IdIndex:
    """Texts with a number each, from 0; each needs its text and about 20 bytes.

    A text may occur twice; then it always has the number that is found first.
    """

    def __init__(self) -> None:
        self._data: Bytes = np.zeros(PADDING, np.uint8)
        self._offsets = np.zeros(1, np.int64)
        self._hashes = np.zeros(0, np.uint64)
        self._order: Numbers = np.zeros(0, np.int32)

    @property
    def cells(self) -> Cells:
        """The texts, by number."""
        return Cells(self._data, self._offsets[:-1], self._offsets[1:])

    def __len__(self) -> int:
        return len(self._hashes)

    def append(self, cells: Cells) -> None:
        """Give the next numbers to `cells`, which must be contiguous from the start of their buffer."""
        before, size = len(self), len(self._data) - PADDING
        self._data = np.concatenate([self._data[:size], cells.data])
        self._offsets = np.concatenate([self._offsets, cells.ends + size])
        hashes = np.concatenate([self._hashes, cells.hashes()])
        numbers = np.concatenate([self._order, np.arange(before, before + len(cells), dtype=np.int32)])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._order = hashes[order], numbers[order]

    def find(self, ids: Cells) -> Places:
        """The number of each id, or -1 if it is unknown."""
        numbers_of = np.full(len(ids), -1, np.int64)
        hashes, cells = ids.hashes(), self.cells
        rest = np.argsort(hashes)
        places = np.searchsorted(self._hashes, hashes[rest])
        while len(rest):
            inside = places < len(self)
            places, rest = places[inside], rest[inside]
            alike = self._hashes[places] == hashes[rest]
            places, rest = places[alike], rest[alike]
            numbers = self._order[places]
            same = ids.take(rest).equal(cells.take(numbers))
            numbers_of[rest[same]] = numbers[same]
            places, rest = places[~same] + 1, rest[~same]
        return numbers_of


class IdCollector:
    """Collects the distinct texts among many; known texts cost only a look-up."""

    def __init__(self) -> None:
        self._keys = IdIndex()
        self._new: list[Cells] = []
        self._count = 0

    def add(self, cells: Cells) -> None:
        """Add some texts."""
        new = _drop_repeats(cells.take(self._keys.find(cells) < 0))
        if len(new):
            self._new.append(Cells.from_arrow(new.to_arrow()))
            self._count += len(new)
            if self._count > max(_MANY, len(self._keys) // 4):
                self._merge()

    def to_index(self) -> IdIndex:
        """An index of all texts."""
        if self._new:
            self._merge()
        return self._keys

    def _merge(self) -> None:
        new = _concatenate_cells(self._new)
        self._new.clear()
        self._count = 0
        self._keys.append(Cells.from_arrow(_drop_repeats(new).to_arrow()))


def _drop_repeats(cells: Cells) -> Cells:
    """The first cell of each text (rarely also a later one), in order."""
    hashes = cells.hashes()
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    alike = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    repeated = alike[cells.take(order[alike]).equal(cells.take(order[alike - 1]))]
    kept = np.ones(len(cells), bool)
    kept[order[repeated]] = False
    return cells.take(kept)


def _concatenate_cells(pieces: Sequence[Cells]) -> Cells:
    """All cells of several buffers in one buffer."""
    offsets = np.cumsum([0, *(len(piece.data) for piece in pieces)])[:-1]
    return Cells(
        np.concatenate([piece.data for piece in pieces]),
        np.concatenate([piece.starts + offset for piece, offset in zip(pieces, offsets, strict=True)]),
        np.concatenate([piece.ends + offset for piece, offset in zip(pieces, offsets, strict=True)]),
    )
