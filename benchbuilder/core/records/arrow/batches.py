"""Many rows as columns: the output of a source or a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core.records.arrow.build_rows import constant_column
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, Kept, NotApplicable, Outcome
from benchbuilder.core.records.row import Row

_OBJECTS = 2_048
"""The most rows that are objects at a time."""


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Consecutive units of the source file `file`, one at least.

    `lines` (int64) are their numbers. `reasons` (string) is null if a unit was kept, else why it was dropped; `details`
    (string) is the evidence ("" if kept). `rows` are the rows of the kept units, in order.
    """

    file: str
    lines: pa.Array[Any]
    reasons: pa.Array[Any]
    details: pa.Array[Any]
    rows: Table[Any]


@dataclass(frozen=True, slots=True)
class OutcomeBatch:
    """The outcomes of a table of rows: one entry per branch, in the order of the rows.

    `row_position` (int64) is the row's place in the table. `slots`, `outcomes` (``kept``, ``dropped``,
    ``not_applicable`` or ``failed``), `reasons` and `details` are strings ("" if empty). `rows` are the rows of kept
    branches, in order: each is the row of the table itself, or a child of it.
    """

    row_position: pa.Array[Any]
    slots: pa.Array[Any]
    outcomes: pa.Array[Any]
    reasons: pa.Array[Any]
    details: pa.Array[Any]
    rows: Table[Any]


@dataclass(frozen=True, slots=True)
class GatherPiece:
    """Some rows of the `each` port of a gather, their `positions` in its table, and their outcomes.

    The `row_position` of a branch counts within `each`.
    """

    positions: NDArray[np.int64]
    each: Table[Any]
    branches: OutcomeBatch


@dataclass(frozen=True, slots=True)
class UnusedRows:
    """The unused rows of a `whole` port: their positions in its table, and a reason for each."""

    positions: NDArray[np.int64]
    reasons: pa.Array[Any]


@dataclass(slots=True)
class GatherStream:
    """The result of a gather, piece by piece: each is written before the next is made.

    Every row of the `each` port is in one piece. `unused` and `notes` are as in `GatherResult`, and may be filled in
    until the last piece is made.
    """

    pieces: Iterable[GatherPiece]
    unused: dict[str, UnusedRows] = field(default_factory=dict[str, UnusedRows])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


def decided_pieces(
    table: Table[Any], decided: Mapping[int, Row | Dropped | NotApplicable], rows: int | None = None
) -> Iterator[GatherPiece]:
    """The rows of a table, kept as they are unless `decided` says otherwise, by position; a row there takes its place.

    A piece has up to `rows` rows.
    """
    for first, window in table.windows() if rows is None else table.windows(rows):
        found = [decided.get(place) for place in range(first, first + len(window))]
        outcomes, reasons, details = (
            pa.array(list(texts), pa.string()) for texts in zip(*map(_told, found), strict=True)
        )
        kept = np.flatnonzero([one is None or isinstance(one, Row) for one in found])
        made = [one for one in found if isinstance(one, Row)]
        order = kept.copy()
        order[[isinstance(found[place], Row) for place in kept]] = len(window) + np.arange(len(made))
        held = pa.concat_tables([window.arrow, Table.of(made, window.row).arrow]) if made else window.arrow
        here = np.arange(len(window))
        passed = Table(held.take(pa.array(order, pa.int64())), window.row)
        empty = constant_column("", len(window))
        yield GatherPiece(first + here, window, OutcomeBatch(pa.array(here), empty, outcomes, reasons, details, passed))


def outcome_pieces(
    table: Table[Any], output: type[Row], decide: Callable[[int, Row], Sequence[Outcome]], rows: int = _OBJECTS
) -> Iterator[GatherPiece]:
    """The rows of a table with the outcomes that `decide` gives for each row and its position.

    No more than `rows` of them are objects at a time.
    """
    for first, window in table.windows(rows):
        found = [decide(first + at, row) for at, row in enumerate(window)]
        places = np.repeat(np.arange(len(window)), [len(branches) for branches in found])
        listed = [outcome for branches in found for outcome in branches]
        told = [_told(outcome) for outcome in listed]
        outcomes, reasons, details = (pa.array([texts[part] for texts in told], pa.string()) for part in range(3))
        slots = pa.array([outcome.slot for outcome in listed], pa.string())
        kept = Table.of((outcome.row for outcome in listed if isinstance(outcome, Kept)), output)
        branches = OutcomeBatch(pa.array(places, pa.int64()), slots, outcomes, reasons, details, kept)
        yield GatherPiece(np.arange(first, first + len(window)), window, branches)


def _told(outcome: Row | Outcome | None) -> tuple[str, str, str]:
    """The name, reason and detail of an outcome; a row, and ``None``, are kept."""
    if isinstance(outcome, Dropped):
        return "dropped", outcome.reason, outcome.detail
    if isinstance(outcome, NotApplicable):
        return "not_applicable", outcome.reason, ""
    return ("failed", "", outcome.error) if isinstance(outcome, Failed) else ("kept", "", "")
