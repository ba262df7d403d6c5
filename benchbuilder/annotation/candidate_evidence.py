"""Finds the evidence of candidates, of which only positions are held in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import RowIndex, Table, take_rows

_PLACE = ("base", "rank", "slot", "id")
"""The columns that say where a row stands among the evidence of its candidate (see `Evidence.place`)."""
_WINDOW_ROWS = 8_192


@dataclass(frozen=True)
class EvidenceWindow:
    """The evidence of candidates that follow each other, in the order of candidates and of `Evidence.place`.

    `positions` are those in the table of evidence, `counts` says how many rows each candidate has.
    """

    rows: pa.Table
    positions: NDArray[np.int64]
    counts: NDArray[np.int64]


class CandidateEvidence:
    """The evidence of each candidate. `owners` has the position of the candidate of each row, -1 if it is not there."""

    def __init__(self, candidates: Table[Any], evidence: Table[Any]) -> None:
        ids = [chunk for batch in candidates.batches(["id"]) for chunk in batch.column("id").chunks]
        index = RowIndex(ids)
        parents = [chunk for batch in evidence.batches(["of"]) for chunk in batch.column("of").chunks]
        none = np.zeros(0, np.int64)
        self.owners: NDArray[np.int64] = np.concatenate([none, *(index.positions(chunk) for chunk in parents)])
        self._evidence = evidence
        self._order = np.argsort(self.owners, kind="stable")
        self._starts = np.searchsorted(self.owners, np.arange(len(candidates) + 1), sorter=self._order)

    def window_rows(self) -> int:
        """How many candidates to take at a time, so that their evidence fits into a window."""
        candidates = max(1, len(self._starts) - 1)
        each = self._evidence.nbytes // candidates if len(self.owners) else 0
        return max(1, min(_WINDOW_ROWS, self._evidence.window_bytes // max(1, each)))

    def window(self, first: int, count: int, names: Sequence[str] | None = None) -> EvidenceWindow:
        """The evidence of `count` candidates from position `first` on, or the columns `names` of it."""
        starts = self._starts[first : first + count + 1]
        positions = self._order[starts[0] : starts[-1]]
        counts = np.diff(starts)
        table = self._evidence.arrow
        rows = take_rows(table if names is None else table.select(list(dict.fromkeys([*names, *_PLACE]))), positions)
        compute: Any = pc
        keys = {"owner": pa.array(np.repeat(np.arange(count), counts)),
                "found": compute.greater(rows.column("rank"), 0).cast(pa.int8())}  # fmt: skip
        keys |= {name: rows.column(name) for name in _PLACE}
        order = compute.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
        return EvidenceWindow(rows.take(order), positions[order.to_numpy()], counts)
