"""Ids of tables, millions of them, each with a number: sorted by a hash, and compared by their text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchbuilder.sources.columnar.cells import PADDING, Bytes, Cells, Places

Numbers = NDArray[np.int32]

_MANY = 500_000


class IdIndex:
    """Texts with a number each, from 0; about 20 bytes and its text for each.

    The same text may stand there twice: then it has the number that is found first, always the same.
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
        """Give the next numbers to `cells`, which stand one behind the other from the beginning of their buffer."""
        before, size = len(self), len(self._data) - PADDING
        self._data = np.concatenate([self._data[:size], cells.data])
        self._offsets = np.concatenate([self._offsets, cells.ends + size])
        hashes = np.concatenate([self._hashes, cells.hashes()])
        numbers = np.concatenate([self._order, np.arange(before, before + len(cells), dtype=np.int32)])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._order = hashes[order], numbers[order]

    def find(self, ids: Cells) -> Places:
        """The number of each, -1 for what is not there."""
        found = np.full(len(ids), -1, np.int64)
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
            found[rest[same]] = numbers[same]
            places, rest = places[~same] + 1, rest[~same]
        return found


class IdCollector:
    """Gathers the distinct texts among many; those that are gathered already cost a look."""

    def __init__(self) -> None:
        self._keys = IdIndex()
        self._new: list[Cells] = []
        self._count = 0

    def add(self, cells: Cells) -> None:
        """Take some."""
        new = _drop_repeats(cells.take(self._keys.find(cells) < 0))
        if len(new):
            self._new.append(Cells.from_arrow(new.to_arrow()))
            self._count += len(new)
            if self._count > max(_MANY, len(self._keys) // 4):
                self._merge()

    def to_index(self) -> IdIndex:
        """All that were taken."""
        if self._new:
            self._merge()
        return self._keys

    def _merge(self) -> None:
        new = _concatenate_cells(self._new)
        self._new.clear()
        self._count = 0
        self._keys.append(Cells.from_arrow(_drop_repeats(new).to_arrow()))


def _drop_repeats(cells: Cells) -> Cells:
    """The first of each text (and now and then a later one), in their order."""
    hashes = cells.hashes()
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    alike = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    again = alike[cells.take(order[alike]).equal(cells.take(order[alike - 1]))]
    kept = np.ones(len(cells), bool)
    kept[order[again]] = False
    return cells.take(kept)


def _concatenate_cells(pieces: Sequence[Cells]) -> Cells:
    """All cells of several buffers in one."""
    before = np.cumsum([0, *(len(piece.data) for piece in pieces)])[:-1]
    return Cells(
        np.concatenate([piece.data for piece in pieces]),
        np.concatenate([piece.starts + offset for piece, offset in zip(pieces, before, strict=True)]),
        np.concatenate([piece.ends + offset for piece, offset in zip(pieces, before, strict=True)]),
    )
