"""Ids of rows in a few bytes each: whether they are unique, and the positions of rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core.errors import AccountingError

_DIGITS = 20
_ID = re.compile(rf"(.*-)([0-9a-f]{{{_DIGITS}}})", re.DOTALL)
_WRONG = 255
_VALUES = np.full(256, _WRONG, np.uint8)
_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


class UniqueIds:
    """Takes the ids of a table piece by piece and finds duplicates.

    Exact, whatever the ids look like. Those that rows compute for themselves (a name and the digits of a hash) take
    ten bytes each, others as much as their text.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._sizes: list[int] = []
        self._high: list[Any] = []
        self._low: list[Any] = []
        self._others: Counter[str] = Counter()

    def add(self, ids: pa.Array[Any] | pa.ChunkedArray[Any]) -> None:
        """Take the ids of some rows."""
        for piece in ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]:
            if not len(piece):
                continue
            if (found := split_uniform_ids(piece)) is not None:
                self._keep(*found)
            else:
                self._sort_out([str(row) for row in piece.to_pylist()])

    def _keep(self, name: str, digits: Any) -> None:
        """`digits` holds the values of the digits, a line for each id."""
        high, low = digits_as_numbers(digits)
        self._names.append(name)
        self._sizes.append(len(high))
        self._high.append(high)
        self._low.append(low)

    def _sort_out(self, ids: list[str]) -> None:
        by_name: dict[str, list[str]] = {}
        for row in ids:
            if (parts := split_id(row)) is None:
                self._others[row] += 1
            else:
                by_name.setdefault(parts[0], []).append(parts[1])
        for name, digits in by_name.items():
            self._keep(name, digit_values(digits))

    def duplicates(self) -> list[str]:
        """The ids that occur more than once."""
        found = [row for row, count in self._others.items() if count > 1]
        if not self._high:
            return found
        high = np.concatenate(self._high)
        ordered = np.sort(high)
        suspect = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        del ordered
        if not len(suspect):
            return found
        there = np.flatnonzero(np.isin(high, suspect))
        low, ends = np.concatenate(self._low), np.cumsum(self._sizes)
        counts = Counter(
            f"{self._names[piece]}{high[place]:016x}{low[place]:04x}"
            for place, piece in zip(there.tolist(), np.searchsorted(ends, there, side="right").tolist(), strict=True)
        )
        return found + [row for row, count in counts.items() if count > 1]

    def check(self, step: str) -> None:
        """AccountingError if an id of the rows of `step` occurs twice."""
        if twice := self.duplicates():
            raise AccountingError(
                f"the counts of step {step!r} do not add up: {len(twice)} id"
                f"{' occurs' if len(twice) == 1 else 's occur'} twice, for instance {min(twice)}",
                why="equal rows must come from different parents",
                next="this is a bug in the kind of the step; nothing of the shard was committed: report it with this "
                "message",
            )


def split_id(row: str) -> tuple[str, str] | None:
    """The name and the digits of an id that a row computes for itself; ``None`` of others."""
    match = _ID.fullmatch(row)
    return None if match is None else (match[1], match[2])


def digit_values(digits: Sequence[str]) -> Any:
    """The values of the digits of some ids, a line for each."""
    return _VALUES[np.frombuffer("".join(digits).encode(), np.uint8)].reshape(-1, _DIGITS)


def digits_as_numbers(digits: Any) -> tuple[Any, Any]:
    """The first sixteen digits of each line as one number, and the last four as another."""
    octets = digits[:, 0::2] << 4 | digits[:, 1::2]
    high = np.ascontiguousarray(octets[:, :8]).view(">u8").ravel().astype(np.uint64)
    return high, np.ascontiguousarray(octets[:, 8:]).view(">u2").ravel().astype(np.uint16)


def split_uniform_ids(ids: Any) -> tuple[str, Any] | None:
    """The name and the values of the digits of ids that all have one name; ``None`` if they have not."""
    if ids.null_count or not pa.types.is_string(ids.type):
        return None
    _, offsets, data = ids.buffers()
    ends = np.frombuffer(offsets, np.int32)[ids.offset : ids.offset + len(ids) + 1]
    width = int(ends[1]) - int(ends[0])
    if width <= _DIGITS or (np.diff(ends) != width).any():
        return None
    written = np.frombuffer(data, np.uint8)[int(ends[0]) : int(ends[-1])].reshape(len(ids), width)
    name = written[0, :-_DIGITS]
    if name[-1] != ord("-") or (written[:, :-_DIGITS] != name).any():
        return None
    digits = _VALUES[written[:, -_DIGITS:]]
    return None if (digits == _WRONG).any() else (name.tobytes().decode(), digits)


@dataclass(frozen=True, slots=True)
class _IdGroup:
    """The ids of one name: their digits as numbers, in order of the first of these, and where each stands."""

    high: Any
    low: Any
    positions: Any

    def find(self, digits: Any) -> Any:
        """The position of each id, -1 for unknown ones; `digits` holds the values of its digits, a line for each."""
        high, low = digits_as_numbers(digits)
        first, after = (np.searchsorted(self.high, high, side=side) for side in ("left", "right"))
        # the first of those with the same beginning is nearly always the right one
        place = np.minimum(first, len(self.high) - 1)
        right = (first < after) & (self.low[place] == low)
        positions = np.where(right, self.positions[place], -1)
        for index in np.flatnonzero(~right & (after - first > 1)).tolist():
            run = range(int(first[index]), int(after[index]))
            positions[index] = next((self.positions[other] for other in run if self.low[other] == low[index]), -1)
        return positions


class RowIndex:
    """Finds rows by their ids, exactly, whatever these look like; for a duplicate id, either position.

    Ids that rows compute for themselves (a name and the digits of a hash) take eighteen bytes each, others as much as
    their text.
    """

    def __init__(self, ids: Iterable[pa.Array[Any]]) -> None:
        """`ids`: the column of ids, piece by piece."""
        self._others: dict[str, int] = {}
        pieces: dict[str, list[tuple[Any, Any, Any]]] = {}
        start = 0
        for piece in ids:
            if len(piece) and (found := split_uniform_ids(piece)) is not None:
                name, digits = found
                pieces.setdefault(name, []).append((*digits_as_numbers(digits), np.arange(start, start + len(piece))))
            else:
                self._others |= {str(row): start + at for at, row in enumerate(piece.to_pylist())}
            start += len(piece)
        self._alike = {name: _ordered(held) for name, held in pieces.items()}

    def find(self, ids: Sequence[str]) -> list[int | None]:
        """The position of each of these ids; ``None`` for unknown ones."""
        positions: list[int] = self.positions(pa.array(ids, pa.string())).tolist()
        return [None if position < 0 else position for position in positions]

    def positions(self, ids: pa.Array[Any]) -> NDArray[np.int64]:
        """The position of each id of a column; -1 for unknown ones."""
        found = np.full(len(ids), -1, np.int64)
        if self._others:
            found[:] = [self._others.get(str(row), -1) for row in ids.to_pylist()]
        for name, held in self._alike.items():
            mask: Any = pc.starts_with(ids, name)
            there = np.flatnonzero(mask.to_numpy(zero_copy_only=False) & (found < 0))
            if not len(there):
                continue
            chosen: Any = pa.array(there)
            some: Any = ids if len(there) == len(ids) else ids.take(chosen)
            if (same := split_uniform_ids(some)) is not None and same[0] == name:
                found[there] = held.find(same[1])
                continue
            parts = [split_id(row) for row in some.to_pylist()]
            fits = [at for at, part in enumerate(parts) if part is not None and part[0] == name]
            if fits:
                found[there[fits]] = held.find(digit_values([part[1] for part in parts if part and part[0] == name]))
        return found


def _ordered(pieces: list[tuple[Any, Any, Any]]) -> _IdGroup:
    high, low, places = (np.concatenate(held) for held in zip(*pieces, strict=True))
    pieces.clear()
    order = np.argsort(high, kind="stable")
    return _IdGroup(high[order], low[order], places[order])
