"""Stores millions of names by number: the names of things whose ids tables join."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import name_file_in_errors
from benchbuilder.sources.columnar.cells import Cells, Mask, Numbers, Places

_compute: Any = pc

IN_MEMORY_BYTES = 16_000_000
"""Bytes of names in memory; more are in a memory-mapped file."""


class TextStore:
    """Stores texts, one after the other; beyond a limit in the file `path`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pending: list[Any] = []
        self._size = 0
        self._lengths: list[NDArray[np.int32]] = []

    def add(self, texts: pa.Array[Any]) -> None:
        """Add some texts."""
        cells = Cells.from_arrow(texts)
        self._lengths.append((cells.ends - cells.starts).astype(np.int32))
        written = cells.data[: int(cells.ends[-1]) if len(cells) else 0]
        self._pending.append(written)
        self._size += len(written)
        if self._size > IN_MEMORY_BYTES:
            self._write()

    def _write(self) -> None:
        with name_file_in_errors(self._path), self._path.open("ab") as handle:
            for written in self._pending:
                written.tofile(handle)
        self._pending.clear()
        self._size = 0

    def read_all(self) -> Any:
        """All texts, in order."""
        if self._path.exists():
            self._write()
            with self._path.open("rb") as handle:
                data: Any = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            data = b"".join(written.tobytes() for written in self._pending)
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int32)
        offsets: Any = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        buffers: Any = (pa.py_buffer(offsets), pa.py_buffer(data))
        return pa.LargeStringArray.from_buffers(len(lengths), *buffers)


class NamesById:
    """The names of numbered things: number `n` has the names `order[begin[n]:begin[n + 1]]` of `texts`."""

    def __init__(self, owners: Numbers, texts: Any, count: int) -> None:
        counts = np.bincount(owners, minlength=count)
        self.begin = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=self.begin[1:])
        self.order: Numbers = np.argsort(owners, kind="stable").astype(np.int32)
        self.texts = texts

    def counts(self, numbers: Places) -> Places:
        """The number of names of each; 0 if the number is -1."""
        return np.where(numbers < 0, 0, self.begin[numbers + 1] - self.begin[numbers])

    def first_names(self, numbers: Places) -> Any:
        """The first name of each; each must have one."""
        return _take_texts(self.texts, self.order[self.begin[numbers]])

    def first_names_or_empty(self, numbers: Places) -> Any:
        """The first name of each, or ""."""
        named = self.counts(numbers) > 0
        texts: Any = pa.nulls(len(numbers), pa.string())
        texts = _compute.replace_with_mask(texts, pa.array(named), self.first_names(numbers[named]))
        return _compute.fill_null(texts, "")

    def all_names(self, numbers: Places) -> tuple[NDArray[np.int32], Any]:
        """All names of each: the start of those of each (and the end of the last), and the names."""
        lengths = self.counts(numbers)
        offsets = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(int(offsets[-1])) + np.repeat(self.begin[numbers] - offsets[:-1], lengths)
        return offsets.astype(np.int32), _take_texts(self.texts, self.order[places])


class NameCollector:
    """Collects names with the numbers of their owners; a second equal name of an owner counts as repeated."""

    def __init__(self, count: int, path: Path, *, first: bool) -> None:
        self._count = count
        self._texts = TextStore(path)
        self._owners: list[Numbers] = []
        self._keys: list[NDArray[np.uint64]] = []
        self._named = np.zeros(count if first else 0, bool)
        self._first = first
        self.repeated = 0
        self.used = 0

    def add(self, numbers: Places, names: Cells) -> None:
        """Add some names; if only the first name counts, later ones are repeated."""
        if self._first:
            fresh = np.flatnonzero(~self._named[numbers])
            _, places = np.unique(numbers[fresh], return_index=True)
            kept = np.sort(fresh[places])
            self.repeated += len(numbers) - len(kept)
            numbers, names = numbers[kept], names.take(kept)
            self._named[numbers] = True
        else:
            self._keys.append(names.hashes() ^ numbers.astype(np.uint64))
        self.used += len(numbers)
        self._owners.append(numbers.astype(np.int32))
        self._texts.add(names.to_arrow())

    def names(self) -> NamesById:
        """All names. This also sets the final numbers `repeated` and `used`."""
        owners = np.concatenate(self._owners) if self._owners else np.zeros(0, np.int32)
        self._owners.clear()
        texts = self._texts.read_all()
        if self._first or not len(owners):
            return NamesById(owners, texts, self._count)
        keys = np.concatenate(self._keys)
        self._keys.clear()
        repeated = _repeated(owners, keys, texts)
        del keys
        self.repeated, self.used = int(repeated.sum()), int((~repeated).sum())
        names = NamesById(owners[~repeated], texts, self._count)
        if self.repeated:
            names.order = np.flatnonzero(~repeated).astype(np.int32)[names.order]
        return names


def _repeated(owners: Numbers, keys: NDArray[np.uint64], texts: Any) -> Mask:
    """Which names their owner already has; `keys` are equal if both owner and name are equal."""
    repeated = np.zeros(len(owners), bool)
    order = np.argsort(keys, kind="stable").astype(np.int32)
    ordered = keys[order]
    alike = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    del ordered
    if not len(alike):
        return repeated
    later, earlier = order[alike], order[alike - 1]
    equal = _compute.equal(_take_texts(texts, later), _take_texts(texts, earlier)).to_numpy(zero_copy_only=False)
    equal = equal & (owners[later] == owners[earlier])
    repeated[later[equal]] = True
    for owner in np.unique(owners[np.concatenate([later[~equal], earlier[~equal]])]).tolist():
        places = np.flatnonzero(owners == owner)
        known = set[str]()
        for place, text in zip(places.tolist(), _take_texts(texts, places).to_pylist(), strict=True):
            repeated[place] = text in known
            known.add(text)
    return repeated


def _take_texts(texts: Any, places: Any) -> Any:
    return texts.take(pa.array(places)).cast(pa.string())
