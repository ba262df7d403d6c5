"""Many rows at once, as columns: what a source read, what a map made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.core.records.arrow.build_rows import same
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Failed, Fate, Kept, NotApplicable


@dataclass(frozen=True, slots=True)
class Units:
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
class Tickets:
    """What became of a table of rows: a line per ticket, those of one row beside each other, in the order of the rows.

    `row` (int64) is the row's place in the table, `slots`, `fates` (``kept``, ``dropped``, ``not_applicable`` or
    ``failed``), `reasons` and `details` are strings ("" where there is nothing to say). `rows` are the rows that kept
    tickets became, in order: each the very row of the table, or a child of it.
    """

    row: pa.Array[Any]
    slots: pa.Array[Any]
    fates: pa.Array[Any]
    reasons: pa.Array[Any]
    details: pa.Array[Any]
    rows: Table[Any]


def passed(table: Table[Any], places: Sequence[int], outcomes: Sequence[Sequence[Fate]]) -> Tickets:
    """The tickets of a table whose rows pass as they are, but for those at `places` (rising): these have `outcomes`.

    Rows that pass have the one slot "".
    """
    count = len(table)
    lines = [(place, fate) for place, fates in zip(places, outcomes, strict=True) for fate in fates]
    if not len(places):
        empty = same("", count)
        return Tickets(pa.array(np.arange(count)), empty, same("kept", count), empty, empty, table)
    of_each, passes = np.ones(count, np.int64), np.ones(count, bool)
    of_each[np.asarray(places)] = [len(fates) for fates in outcomes]
    passes[np.asarray(places)] = False
    row = np.repeat(np.arange(count), of_each)
    said: Any = np.where(passes[row], 0, np.cumsum(~passes[row]))
    told = [("", "kept", "", ""), *((fate.slot, *_said(fate)) for _, fate in lines)]
    at: Any = pa.array(said)
    slots, fates, reasons, details = (pa.array(texts, pa.string()).take(at) for texts in zip(*told, strict=True))
    kept = np.array([True, *(isinstance(fate, Kept) for _, fate in lines)])[said]
    made = Table.of([fate.row for _, fate in lines if isinstance(fate, Kept)], table.row).arrow
    where: Any = pa.array(np.where(said == 0, row, count + np.cumsum(kept & (said > 0)) - 1)[kept])
    rows: pa.Table = pa.concat_tables([table.arrow, made]).take(where)
    return Tickets(pa.array(row), slots, fates, reasons, details, Table(rows, table.row))


def _said(fate: Fate) -> tuple[str, str, str]:
    """The name, reason and detail of a fate."""
    if isinstance(fate, Kept):
        return "kept", "", ""
    if isinstance(fate, Dropped):
        return "dropped", fate.reason, fate.detail
    if isinstance(fate, NotApplicable):
        return "not_applicable", fate.reason, ""
    assert isinstance(fate, Failed)
    return "failed", "", fate.error
