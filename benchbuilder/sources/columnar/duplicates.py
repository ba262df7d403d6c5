"""Finds exact duplicates among millions of units: 24 bytes for each, on disk beyond a limit."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import SourceBatch, Table, constant_column, name_file_in_errors

UInt64Array = NDArray[np.uint64]

MAX_IN_MEMORY = 1_000_000
"""Contents in memory; the others are in sorted files."""
_FEWEST_BITS = 1 << 16
_BITS_EACH = 8
_FIELDS = 3


@dataclass(frozen=True, slots=True)
class _SortedRun:
    """Contents in the order of their hashes: both halves of each hash, and the first position."""

    high: UInt64Array
    low: UInt64Array
    positions: UInt64Array

    def __len__(self) -> int:
        return len(self.high)


class FirstSeenIndex:
    """Takes the hashes of contents, batch by batch, and finds the first position of repeated ones.

    Two contents are equal if all bits of their hashes are equal. A Bloom filter recognises most new contents; the
    others are looked up in sorted runs.
    """

    def __init__(self, in_memory: int | None = None) -> None:
        self._limit = in_memory or MAX_IN_MEMORY
        self._recent: list[_SortedRun] = []
        self._files: list[Path] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._bits: NDArray[np.uint8] = np.zeros(_FEWEST_BITS // 8, np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._recent.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def add_batch(self, digests: NDArray[np.uint8], positions: UInt64Array) -> tuple[NDArray[np.int64], UInt64Array]:
        """Find repeated contents, in this batch or an earlier one.

        Args:
            digests: A row of up to 16 evenly distributed bytes for each content, always the same number.
            positions: The position of each content.

        Returns:
            The places in the batch of repeated contents, and their first positions.
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
        known = self._find_earlier(high[heads], low[heads], first)
        self._add_run(_SortedRun(high[heads[~known]], low[heads[~known]], first[~known]))
        earlier = ~new
        earlier[heads[known]] = True
        places = np.flatnonzero(earlier)
        firsts = first[np.cumsum(new)[places] - 1]
        back = np.argsort(order[places])
        return order[places][back], firsts[back]

    def _find_earlier(self, high: UInt64Array, low: UInt64Array, first: UInt64Array) -> NDArray[np.bool_]:
        """Which contents were in an earlier batch; `first` gets their first positions."""
        known = np.zeros(len(high), bool)
        candidates = np.flatnonzero(self._may_contain(high))
        for run in self._runs():
            if not len(candidates):
                break
            places = np.searchsorted(run.high, high[candidates])
            rest = candidates
            while len(rest):
                inside = places < len(run)
                places, rest = places[inside], rest[inside]
                alike = run.high[places] == high[rest]
                places, rest = places[alike], rest[alike]
                same = run.low[places] == low[rest]
                first[rest[same]], known[rest[same]] = run.positions[places[same]], True
                places, rest = places[~same] + 1, rest[~same]
            candidates = candidates[~known[candidates]]
        return known

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
            for stored in self._runs():
                self._set_filter_bits(stored.high)
        else:
            self._set_filter_bits(run.high)
        if sum(map(len, self._recent)) >= self._limit:
            self._spill()

    def _spill(self) -> None:
        """Write the runs in memory to one file."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="firsts-")
        high = np.concatenate([run.high for run in self._recent])
        order = np.argsort(high, kind="stable")
        file = Path(self._folder.name) / f"{len(self._files)}.run"
        with name_file_in_errors(file), file.open("wb") as handle:
            high[order].tofile(handle)
            for name in ("low", "positions"):
                np.concatenate([getattr(run, name) for run in self._recent])[order].tofile(handle)
        self._files.append(file)
        self._recent.clear()

    def _filter_bits(self, high: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
        """The two bits of the filter for each content."""
        bits = np.uint64(len(self._bits) * 8)
        return high % bits, (high >> np.uint64(32) | high << np.uint64(32)) % bits

    def _set_filter_bits(self, high: UInt64Array) -> None:
        for spots in self._filter_bits(high):
            np.bitwise_or.at(self._bits, spots >> np.uint64(3), _bit_masks(spots))

    def _may_contain(self, high: UInt64Array) -> NDArray[np.bool_]:
        first, second = ((self._bits[s >> np.uint64(3)] & _bit_masks(s)) != 0 for s in self._filter_bits(high))
        return first & second


def _bit_masks(spots: UInt64Array) -> NDArray[np.uint8]:
    return np.left_shift(np.uint8(1), (spots & np.uint64(7)).astype(np.uint8))


def _halves(digests: NDArray[np.uint8]) -> tuple[UInt64Array, UInt64Array]:
    """Both halves of each digest, padded with zeros to 16 bytes, as numbers."""
    padded: Any = np.zeros((len(digests), 16), np.uint8)
    padded[:, : digests.shape[1]] = digests
    halves = padded.view(np.uint64)
    return halves[:, 0].copy(), halves[:, 1].copy()


Digests = NDArray[np.uint8]
Drops = dict[int, tuple[str, str]]

_LINE_BITS = 40
_DIGEST_BYTES = 16
_HEX_DIGITS = 20
_VALUES = np.zeros(256, np.uint8)
_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


@dataclass(frozen=True, slots=True)
class UnitBatch:
    """Consecutive units of a file with their line numbers; `drops` has reason and detail of units without a row.

    `places` are the positions of the other units, `rows` their rows, `digests` hashes of their duplicate keys.
    """

    lines: NDArray[np.int64]
    drops: Drops
    places: NDArray[np.int64]
    rows: Table[Any]
    digests: Digests


class DuplicateFinder(FirstSeenIndex):
    """Finds duplicates among the units of a source's files; a context that removes its temporary files."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._names = names

    def drop_duplicates(self, file: int, batch: UnitBatch) -> SourceBatch:
        """The units of file number `file`; a duplicate of an earlier unit is dropped and names it."""
        positions = batch.lines[batch.places].astype(np.uint64) | np.uint64(file << _LINE_BITS)
        repeated, firsts = self.add_batch(batch.digests, positions)
        rows, drops = batch.rows, batch.drops
        if len(repeated):
            drops = dict(drops)
            for place, first in zip(batch.places[repeated].tolist(), firsts.tolist(), strict=True):
                where = f"{self._names[first >> _LINE_BITS]}:{first & (1 << _LINE_BITS) - 1}"
                drops[place] = ("duplicate", f"kept: {where}")
            kept = np.ones(len(batch.places), bool)
            kept[repeated] = False
            rows = Table(rows.arrow.filter(pa.array(kept)), rows.row)
        return make_source_batch(self._names[file], batch.lines, drops, rows)


def make_source_batch(file: str, lines: NDArray[np.int64], drops: Drops, rows: Table[Any]) -> SourceBatch:
    """Units with the reasons and details of dropped ones."""
    count = len(lines)
    if not drops:
        return SourceBatch(file, pa.array(lines), pa.nulls(count, pa.string()), constant_column("", count), rows)
    reasons: list[str | None] = [None] * count
    details = [""] * count
    for place, drop in drops.items():
        reasons[place], details[place] = drop
    return SourceBatch(file, pa.array(lines), pa.array(reasons, pa.string()), pa.array(details, pa.string()), rows)


def id_digests(ids: Any) -> Digests:
    """The hashes in the ids that rows of one class compute for themselves."""
    count = len(ids)
    if not count:
        return np.zeros((0, _HEX_DIGITS // 2), np.uint8)
    _, offsets, data = ids.buffers()
    ends = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + count + 1]
    written = np.frombuffer(data, np.uint8)[int(ends[0]) : int(ends[-1])].reshape(count, -1)[:, -_HEX_DIGITS:]
    digits = _VALUES[written]
    return (digits[:, 0::2] << 4 | digits[:, 1::2]).astype(np.uint8)


def content_digests(contents: Iterable[Hashable]) -> Digests:
    """A hash of each content."""
    hashed = [
        hashlib.blake2b(repr(content).encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        for content in contents
    ]
    return np.frombuffer(b"".join(hashed), np.uint8).reshape(len(hashed), _DIGEST_BYTES)
