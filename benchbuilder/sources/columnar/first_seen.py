"""Where each content of a source stood first, for millions of them: 24 bytes each, on disk beyond a limit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

UInt64Array = NDArray[np.uint64]

MAX_IN_MEMORY = 1_000_000
"""How many contents are held in memory; the others lie in sorted files."""
_FEWEST_BITS = 1 << 16
_BITS_EACH = 8
_FIELDS = 3


@dataclass(frozen=True, slots=True)
class _SortedRun:
    """Contents in the order of their hashes: both halves of each, and where it stood first."""

    high: UInt64Array
    low: UInt64Array
    positions: UInt64Array

    def __len__(self) -> int:
        return len(self.high)


class FirstSeenIndex:
    """Takes the hashes of contents, batch by batch, and says of each whether and where the same one stood before.

    Two contents count as the same where all bits of their hashes are equal. A small filter of bits tells most of the
    new ones at a glance; the others are looked up in sorted runs.
    """

    def __init__(self, in_memory: int | None = None) -> None:
        self._limit = in_memory or MAX_IN_MEMORY
        self._recent: list[_SortedRun] = []
        self._files: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._bits: NDArray[np.uint8] = np.zeros(_FEWEST_BITS // 8, np.uint8)

    def __enter__(self) -> FirstSeenIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self._recent.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def add_batch(self, digests: NDArray[np.uint8], positions: UInt64Array) -> tuple[NDArray[np.int64], UInt64Array]:
        """Which of a batch stood before (in it or in an earlier one), by place, and where they stood first.

        `digests` holds a line of up to 16 evenly distributed bytes for each content (always as many), `positions` says
        where it stands.
        """
        high, low = _halves(digests)
        order = np.argsort(high, kind="stable")
        if (high[order[1:]] == high[order[:-1]]).any():
            order = np.lexsort((low, high))
        high, low, positions = high[order], low[order], positions[order]
        new = np.ones(len(high), bool)
        new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        heads = np.flatnonzero(new)
        first = positions[heads]
        found = self._find_earlier(high[heads], low[heads], first)
        self._add_run(_SortedRun(high[heads[~found]], low[heads[~found]], first[~found]))
        earlier = ~new
        earlier[heads[found]] = True
        places = np.flatnonzero(earlier)
        firsts = first[np.cumsum(new)[places] - 1]
        back = np.argsort(order[places])
        return order[places][back], firsts[back]

    def _find_earlier(self, high: UInt64Array, low: UInt64Array, first: UInt64Array) -> NDArray[np.bool_]:
        """Which contents stood in an earlier batch; `first` becomes where."""
        found = np.zeros(len(high), bool)
        wanted = np.flatnonzero(self._may_contain(high))
        for run in self._runs():
            if not len(wanted):
                break
            places = np.searchsorted(run.high, high[wanted])
            rest = wanted
            while len(rest):
                inside = places < len(run)
                places, rest = places[inside], rest[inside]
                alike = run.high[places] == high[rest]
                places, rest = places[alike], rest[alike]
                same = run.low[places] == low[rest]
                first[rest[same]], found[rest[same]] = run.positions[places[same]], True
                places, rest = places[~same] + 1, rest[~same]
            wanted = wanted[~found[wanted]]
        return found

    def _runs(self) -> Iterator[_SortedRun]:
        yield from self._recent
        for file in self._files:
            yield _SortedRun(*np.memmap(file, np.uint64, "r").reshape(_FIELDS, -1))

    def _add_run(self, run: _SortedRun) -> None:
        if not len(run):
            return
        self._recent.append(run)
        self._count += len(run)
        if self._count * _BITS_EACH > len(self._bits) * 8:
            self._bits = np.zeros(2 * self._count * _BITS_EACH // 8, np.uint8)
            for every in self._runs():
                self._set_filter_bits(every.high)
        else:
            self._set_filter_bits(run.high)
        if sum(map(len, self._recent)) >= self._limit:
            self._spill()

    def _spill(self) -> None:
        """Write the runs that are held in memory as one."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="firsts-")
        high = np.concatenate([run.high for run in self._recent])
        order = np.argsort(high, kind="stable")
        file = Path(self._folder.name) / f"{len(self._files)}.run"
        with file.open("wb") as handle:
            high[order].tofile(handle)
            for name in ("low", "positions"):
                np.concatenate([getattr(run, name) for run in self._recent])[order].tofile(handle)
        self._files.append(file)
        self._recent.clear()

    def _filter_bits(self, high: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
        """The two bits of the filter that stand for each."""
        bits = np.uint64(len(self._bits) * 8)
        return high % bits, (high >> np.uint64(32) | high << np.uint64(32)) % bits

    def _set_filter_bits(self, high: UInt64Array) -> None:
        for spots in self._filter_bits(high):
            np.bitwise_or.at(self._bits, spots >> np.uint64(3), _bit_masks(spots))

    def _may_contain(self, high: UInt64Array) -> NDArray[np.bool_]:
        one, other = self._filter_bits(high)
        return ((self._bits[one >> np.uint64(3)] & _bit_masks(one)) != 0) & (
            (self._bits[other >> np.uint64(3)] & _bit_masks(other)) != 0
        )


def _bit_masks(spots: UInt64Array) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (spots & np.uint64(7)).astype(np.uint8))


def _halves(digests: NDArray[np.uint8]) -> tuple[UInt64Array, UInt64Array]:
    """Both halves of each digest, as numbers; what it lacks to 16 bytes counts as zero."""
    whole: Any = np.zeros((len(digests), 16), np.uint8)
    whole[:, : digests.shape[1]] = digests
    both = whole.view(np.uint64)
    return both[:, 0].copy(), both[:, 1].copy()
