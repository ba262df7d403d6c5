"""Many rows as columns: the output of a source or a map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core.records.arrow.build_rows import constant_column
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, Kept, NotApplicable, Outcome


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


def pass_through_batch(
    table: Table[Any], positions: Sequence[int], outcomes_by_row: Sequence[Sequence[Outcome]]
) -> OutcomeBatch:
    """The branches of a table whose rows pass unchanged, under the one slot "", except those at `positions` (rising).

    Those have the outcomes of `outcomes_by_row`.
    """
    count = len(table)
    changed = [outcome for _, outcomes in zip(positions, outcomes_by_row, strict=True) for outcome in outcomes]
    if not len(positions):
        empty = constant_column("", count)
        return OutcomeBatch(pa.array(np.arange(count)), empty, constant_column("kept", count), empty, empty, table)
    branches, passes = np.ones(count, np.int64), np.ones(count, bool)
    branches[np.asarray(positions)] = [len(outcomes) for outcomes in outcomes_by_row]
    passes[np.asarray(positions)] = False
    row = np.repeat(np.arange(count), branches)
    # each branch's place in `fields`: 0 if its row passes
    place: Any = np.where(passes[row], 0, np.cumsum(~passes[row]))
    fields = [("", "kept", "", ""), *((outcome.slot, *_outcome_fields(outcome)) for outcome in changed)]
    columns = (pa.array(texts, pa.string()).take(pa.array(place)) for texts in zip(*fields, strict=True))
    slots, outcomes, reasons, details = columns
    kept = np.array([True, *(isinstance(outcome, Kept) for outcome in changed)])[place]
    children = Table.of([outcome.row for outcome in changed if isinstance(outcome, Kept)], table.row).arrow
    order: Any = pa.array(np.where(place == 0, row, count + np.cumsum(kept & (place > 0)) - 1)[kept])
    rows: pa.Table = pa.concat_tables([table.arrow, children]).take(order)
    return OutcomeBatch(pa.array(row), slots, outcomes, reasons, details, Table(rows, table.row))


def _outcome_fields(outcome: Outcome) -> tuple[str, str, str]:
    """The name, reason and detail of an outcome."""
    if isinstance(outcome, Kept):
        return "kept", "", ""
    if isinstance(outcome, Dropped):
        return "dropped", outcome.reason, outcome.detail
    if isinstance(outcome, NotApplicable):
        return "not_applicable", outcome.reason, ""
    assert isinstance(outcome, Failed)
    return "failed", "", outcome.error
