"""Units that were made by the column, before and after exact duplicates are found among them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import SourceBatch, Table, constant_column
from benchbuilder.sources.columnar.first_seen import FirstSeenIndex

Digests = NDArray[np.uint8]
Drops = dict[int, tuple[str, str]]

_LINE_BITS = 40
_DIGEST_BYTES = 16
_HEX_DIGITS = 20
_VALUES = np.zeros(256, np.uint8)
_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


@dataclass(frozen=True, slots=True)
class UnitBatch:
    """Consecutive units of a file: `drops` has reason and detail of those that have no row, by place.

    `places` are the units that have one, `rows` their rows, `digests` a hash of what makes two of them duplicates.
    """

    lines: NDArray[np.int64]
    drops: Drops
    places: NDArray[np.int64]
    rows: Table[Any]
    digests: Digests


class DuplicateFinder:
    """Finds the duplicates among the units of the files of a source; a context that removes what it put on disk."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._firsts = FirstSeenIndex()

    def __enter__(self) -> DuplicateFinder:
        self._firsts.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._firsts.__exit__(*raised)

    def drop_duplicates(self, file: int, batch: UnitBatch) -> SourceBatch:
        """The units of file number `file`; those that are duplicates of an earlier one are dropped naming it."""
        at = batch.lines[batch.places].astype(np.uint64) | np.uint64(file << _LINE_BITS)
        twice, firsts = self._firsts.add_batch(batch.digests, at)
        rows, drops = batch.rows, batch.drops
        if len(twice):
            drops = dict(drops)
            for place, first in zip(batch.places[twice].tolist(), firsts.tolist(), strict=True):
                where = f"{self._files[first >> _LINE_BITS]}:{first & (1 << _LINE_BITS) - 1}"
                drops[place] = ("duplicate", f"kept: {where}")
            kept = np.ones(len(batch.places), bool)
            kept[twice] = False
            rows = Table(rows.arrow.filter(pa.array(kept)), rows.row)
        return make_source_batch(self._files[file], batch.lines, drops, rows)


def make_source_batch(file: str, lines: NDArray[np.int64], drops: Drops, rows: Table[Any]) -> SourceBatch:
    """Units with the reasons and details of those that were dropped."""
    count = len(lines)
    if not drops:
        return SourceBatch(file, pa.array(lines), pa.nulls(count, pa.string()), constant_column("", count), rows)
    reasons: list[str | None] = [None] * count
    details = [""] * count
    for place, said in drops.items():
        reasons[place], details[place] = said
    return SourceBatch(file, pa.array(lines), pa.array(reasons, pa.string()), pa.array(details, pa.string()), rows)


def id_digests(ids: Any) -> Digests:
    """The hashes of which ids are made that rows compute for themselves, all of one class."""
    count = len(ids)
    if not count:
        return np.zeros((0, _HEX_DIGITS // 2), np.uint8)
    _, offsets, data = ids.buffers()
    ends = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + count + 1]
    written = np.frombuffer(data, np.uint8)[int(ends[0]) : int(ends[-1])].reshape(count, -1)[:, -_HEX_DIGITS:]
    digits = _VALUES[written]
    return (digits[:, 0::2] << 4 | digits[:, 1::2]).astype(np.uint8)


def content_digests(contents: Iterable[Hashable]) -> Digests:
    """A hash of each content: a text, or texts."""
    hashed = [
        hashlib.blake2b(repr(content).encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        for content in contents
    ]
    return np.frombuffer(b"".join(hashed), np.uint8).reshape(len(hashed), _DIGEST_BYTES)
