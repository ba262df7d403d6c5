"""Where rows stand in a table, by their ids, in a few bytes each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.core.records.arrow.unique_ids import digit_values, digits_as_numbers, split_id, split_uniform_ids


@dataclass(frozen=True, slots=True)
class _IdGroup:
    """The ids of one name: their digits as numbers, in order of the first of these, and where each stands."""

    high: Any
    low: Any
    positions: Any

    def find(self, digits: Any) -> list[int | None]:
        """The place of each id; `digits` holds the values of its digits, a line for each."""
        high, low = digits_as_numbers(digits)
        first, after = (np.searchsorted(self.high, high, side=side) for side in ("left", "right"))
        # the first of those that begin alike is nearly always the one
        at = np.minimum(first, len(self.high) - 1)
        right = (first < after) & (self.low[at] == low)
        found: list[int | None] = np.where(right, self.positions[at], -1).tolist()
        for one in np.flatnonzero(~right).tolist():
            run = range(int(first[one]), int(after[one]))
            found[one] = next((int(self.positions[place]) for place in run if self.low[place] == low[one]), None)
        return found


class RowIndex:
    """Finds rows by their ids. Exact, whatever these look like; of an id that stands there twice, either place.

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
        """The place of each of these ids; ``None`` where it is not there."""
        if not self._others and (same := split_uniform_ids(pa.array(ids, pa.string())) if ids else None) is not None:
            held = self._alike.get(same[0])
            return [None] * len(ids) if held is None else held.find(same[1])
        found = [self._others.get(row) for row in ids]
        by_name: dict[str, list[tuple[int, str]]] = {}
        for at, row in enumerate(ids):
            parts = split_id(row)
            if parts is not None and parts[0] in self._alike:
                by_name.setdefault(parts[0], []).append((at, parts[1]))
        for name, wanted in by_name.items():
            there = self._alike[name].find(digit_values([digits for _, digits in wanted]))
            for (at, _), place in zip(wanted, there, strict=True):
                found[at] = found[at] if place is None else place
        return found


def _ordered(pieces: list[tuple[Any, Any, Any]]) -> _IdGroup:
    high, low, places = (np.concatenate(held) for held in zip(*pieces, strict=True))
    pieces.clear()
    order = np.argsort(high, kind="stable")
    return _IdGroup(high[order], low[order], places[order])
