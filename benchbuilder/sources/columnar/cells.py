"""Cells of tables as places in a buffer of bytes, many at a time: trimmed, parted, compared and hashed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]

PADDING = 16
"""How many bytes that belong to no cell stand at the end of a buffer, so that a cell can be looked at by words."""

_SPACE = np.zeros(256, bool)
_SPACE[[9, 10, 11, 12, 13, 28, 29, 30, 31, 32]] = True
_WIDE = np.array(
    sorted(int.from_bytes(character.encode()) for character in map(chr, range(0x80, 0x3001)) if character.isspace())
)
_ROUNDS = 8
_WORD = 8
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(_WORD + 1)], np.uint64)
_HASH_FACTOR_1 = np.uint64(0x9E3779B97F4A7C15)
_HASH_FACTOR_2 = np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Cells:
    """Texts in UTF-8: cell `n` is ``data[starts[n]:ends[n]]``; `data` ends in `PADDING` bytes that are in none."""

    data: Bytes
    starts: Places
    ends: Places

    @classmethod
    def from_arrow(cls, texts: Any) -> Cells:
        """The cells of an Arrow array of strings; a null is an empty one."""
        array: Any = texts.cast(pa.large_string())
        count = len(array)
        _, offsets, data = array.buffers()
        ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1] if count else np.zeros(1, int)
        low, high = int(ends[0]), int(ends[-1])
        held = np.zeros(high - low + PADDING, np.uint8)
        if high > low:
            held[: high - low] = np.frombuffer(data, np.uint8)[low:high]
        starts, stops = ends[:-1] - low, ends[1:] - low
        if array.null_count:
            stops = np.where(array.is_null().to_numpy(zero_copy_only=False), starts, stops)
        return cls(held, starts, stops)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def is_empty(self) -> Mask:
        """Which of them are empty."""
        return self.starts == self.ends

    def take(self, places: Any) -> Cells:
        """Some of them: their places, or a mask."""
        return Cells(self.data, self.starts[places], self.ends[places])

    def text(self, place: int) -> str:
        """One of them."""
        return self.data[self.starts[place] : self.ends[place]].tobytes().decode()

    def to_arrow(self) -> pa.Array[Any]:
        """All of them, which stand in the buffer in this order, as an array of strings."""
        count = len(self.starts)
        if not count:
            return pa.array([], pa.string())
        offsets: Any = np.empty(2 * count, np.int32)
        offsets[0::2], offsets[1::2] = self.starts, self.ends
        data: Any = self.data
        buffers = (pa.py_buffer(offsets), pa.py_buffer(data))
        every: Any = pa.StringArray.from_buffers(2 * count - 1, *buffers)
        return every.take(pa.array(np.arange(0, 2 * count - 1, 2)))

    def strip(self) -> Cells:
        """Without the white space around them, as `str.strip` sees it."""
        starts, ends = self.starts.copy(), self.ends.copy()
        rest = _strip_rounds(self.data, starts, ends, 0, len(starts))
        for place in rest:
            text = self.data[starts[place] : ends[place]].tobytes().decode()
            starts[place] += len(text.encode()) - len(text.lstrip().encode())
            ends[place] = starts[place] + len(text.strip().encode())
        return Cells(self.data, starts, ends)

    def rpartition(self, separator: str) -> tuple[Mask, Cells, Cells]:
        """Where they hold `separator`, and what stands before and behind the last one, as `str.rpartition` sees it."""
        written = separator.encode()
        there = np.append(find_bytes(self.data, written), np.int64(0))
        last = np.searchsorted(there[:-1], self.ends - len(written), side="right") - 1
        at = there[last]
        marked = (last >= 0) & (at >= self.starts)
        middle = np.where(marked, at, self.starts)
        behind = np.where(marked, at + len(written), self.starts)
        return marked, Cells(self.data, self.starts, middle), Cells(self.data, behind, self.ends)

    def equal(self, other_cells: Cells) -> Mask:
        """Which of them are the same text as the cell at the same place of `other_cells`."""
        lengths = self.ends - self.starts
        same = lengths == other_cells.ends - other_cells.starts
        mine, others = eight_byte_words(self.data), eight_byte_words(other_cells.data)
        for done in range(0, int(lengths.max(initial=0, where=same)), _WORD):
            at = np.flatnonzero(same & (lengths > done))
            mask = _MASKS[np.minimum(lengths[at] - done, _WORD)]
            same[at] = ((mine[self.starts[at] + done] ^ others[other_cells.starts[at] + done]) & mask) == 0
        return same

    def hashes(self) -> NDArray[np.uint64]:
        """64 bits of each, the same for the same text."""
        lengths = self.ends - self.starts
        mine, hashed = eight_byte_words(self.data), lengths.astype(np.uint64) * _HASH_FACTOR_2
        at = np.flatnonzero(lengths > 0)
        done = 0
        while len(at):
            left = lengths[at] - done
            mixed = (hashed[at] ^ (mine[self.starts[at] + done] & _MASKS[np.minimum(left, _WORD)])) * _HASH_FACTOR_1
            hashed[at] = (mixed ^ (mixed >> np.uint64(29))) * _HASH_FACTOR_2
            done += _WORD
            at = at[left > _WORD]
        return hashed ^ (hashed >> np.uint64(32))


def eight_byte_words(data: Bytes) -> NDArray[np.uint64]:
    """The eight bytes from each place on, as a number (the last places but for the padding included)."""
    return np.ndarray((len(data) - _WORD + 1,), np.dtype("<u8"), data, strides=(1,))


def find_bytes(data: Bytes, mark: bytes) -> Places:
    """Every place where `separator` stands, overlapping ones too."""
    size = len(data) - len(mark) + 1 - PADDING
    if size <= 0:
        return np.zeros(0, np.int64)
    there = data[:size] == mark[0]
    for offset, byte in enumerate(mark[1:], 1):
        there &= data[offset : offset + size] == byte
    return np.flatnonzero(there)


def _strip_rounds(data: Bytes, starts: Places, ends: Places, first: int, count: int) -> list[int]:
    """Move starts and ends past white space, a character a round; the places that still have some after the last."""
    left = right = np.arange(first, count)
    for _ in range(_ROUNDS):
        left, right = left[ends[left] > starts[left]], right[ends[right] > starts[right]]
        width = _leading(data, starts[left], ends[left])
        starts[left] += width
        left = left[width > 0]
        right = right[ends[right] > starts[right]]
        width = _trailing(data, starts[right], ends[right])
        ends[right] -= width
        right = right[width > 0]
        if not len(left) and not len(right):
            return []
    return sorted({*left.tolist(), *right.tolist()})


def _leading(data: Bytes, starts: Places, ends: Places) -> Places:
    """How many bytes the white space takes with which each begins; 0 if it begins with something else."""
    first = data[starts]
    width = _SPACE[first].astype(np.int64)
    wide = np.flatnonzero((first == 0xC2) | ((first >= 0xE1) & (first <= 0xE3)))
    if len(wide):
        at = starts[wide]
        size = np.where(first[wide] == 0xC2, 2, 3)
        width[wide] = np.where((ends[wide] - at >= size) & _is_wide(data, at, size), size, 0)
    return width


def _trailing(data: Bytes, starts: Places, ends: Places) -> Places:
    """How many bytes the white space takes in which each ends; 0 if it ends in something else."""
    last = data[ends - 1]
    width = _SPACE[last].astype(np.int64)
    wide = np.flatnonzero((last >= 0x80) & (last <= 0xAF) & (ends - starts > 1))
    first = data[np.maximum(ends[wide] - 3, starts[wide])]
    wide = wide[((first >= 0xE1) & (first <= 0xE3)) | (data[ends[wide] - 2] == 0xC2)]
    if len(wide):
        before, ended = ends[wide] - starts[wide], ends[wide]
        for size in (2, 3):
            at = np.maximum(ended - size, 0)
            found = (before >= size) & _is_wide(data, at, np.full(len(at), size))
            width[wide[found]] = size
    return width


def _is_wide(data: Bytes, positions: Places, size: Places) -> Mask:
    """Whether a white space character of `size` bytes stands at each place."""
    code = data[positions].astype(np.int64) << 8 | data[positions + 1]
    code = np.where(size == 3, code << 8 | data[positions + 2], code)
    return np.isin(code, _WIDE) & ((code > 0xFFFF) == (size == 3))
