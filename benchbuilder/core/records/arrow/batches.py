"""Many rows at once, as columns: what a source read, what a map made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.core.records.arrow.build_rows import constant_column
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, Kept, NotApplicable, Outcome


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Consecutive units of the source file `file`, one at least.

    `lines` (int64) numbers them, `reasons` (string) is null where a unit was kept and says otherwise why it was
    dropped, `details` (string) what was seen ("" where kept). `rows` are the rows of those that were kept, in order.
    """

    file: str
    lines: pa.Array[Any]
    reasons: pa.Array[Any]
    details: pa.Array[Any]
    rows: Table[Any]


@dataclass(frozen=True, slots=True)
class OutcomeBatch:
    """What became of a table of rows: a line per branch, those of one row beside each other, in the order of the rows.

    `row_position` (int64) is the row's place in the table, `slots`, `outcomes` (``kept``, ``dropped``,
    ``not_applicable`` or ``failed``), `reasons` and `details` are strings ("" where there is nothing to say). `rows`
    are the rows that kept branches became, in order: each the very row of the table, or a child of it.
    """

    row_position: pa.Array[Any]
    slots: pa.Array[Any]
    outcomes: pa.Array[Any]
    reasons: pa.Array[Any]
    details: pa.Array[Any]
    rows: Table[Any]


def pass_through_batch(
    table: Table[Any], positions: Sequence[int], outcomes_by_row: Sequence[Sequence[Outcome]]
) -> OutcomeBatch:
    """The branches of a table whose rows pass as they are, but for those at `positions` (rising): these have
    `outcomes_by_row`.

    Rows that pass have the one slot "".
    """
    count = len(table)
    lines = [
        (place, outcome) for place, outcomes in zip(positions, outcomes_by_row, strict=True) for outcome in outcomes
    ]
    if not len(positions):
        empty = constant_column("", count)
        return OutcomeBatch(pa.array(np.arange(count)), empty, constant_column("kept", count), empty, empty, table)
    of_each, passes = np.ones(count, np.int64), np.ones(count, bool)
    of_each[np.asarray(positions)] = [len(outcomes) for outcomes in outcomes_by_row]
    passes[np.asarray(positions)] = False
    row = np.repeat(np.arange(count), of_each)
    said: Any = np.where(passes[row], 0, np.cumsum(~passes[row]))
    told = [("", "kept", "", ""), *((outcome.slot, *_outcome_fields(outcome)) for _, outcome in lines)]
    at: Any = pa.array(said)
    slots, outcomes, reasons, details = (pa.array(texts, pa.string()).take(at) for texts in zip(*told, strict=True))
    kept = np.array([True, *(isinstance(outcome, Kept) for _, outcome in lines)])[said]
    made = Table.of([outcome.row for _, outcome in lines if isinstance(outcome, Kept)], table.row).arrow
    where: Any = pa.array(np.where(said == 0, row, count + np.cumsum(kept & (said > 0)) - 1)[kept])
    rows: pa.Table = pa.concat_tables([table.arrow, made]).take(where)
    return OutcomeBatch(pa.array(row), slots, outcomes, reasons, details, Table(rows, table.row))


def _outcome_fields(outcome: Outcome) -> tuple[str, str, str]:
    """The name, reason and detail of a outcome."""
    if isinstance(outcome, Kept):
        return "kept", "", ""
    if isinstance(outcome, Dropped):
        return "dropped", outcome.reason, outcome.detail
    if isinstance(outcome, NotApplicable):
        return "not_applicable", outcome.reason, ""
    assert isinstance(outcome, Failed)
    return "failed", "", outcome.error
