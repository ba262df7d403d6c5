"""Many rows as columns: the output of a source or a map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core.records.arrow.build_rows import constant_column
from benchbuilder.core.records.arrow.table import Table


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


def kept_batch(table: Table[Any], positions: NDArray[np.int64], rows: Table[Any]) -> OutcomeBatch:
    """The branches of a table whose rows all are kept, under the one slot "".

    They pass unchanged, except those at `positions` (rising): `rows` take their places.
    """
    count = len(table)
    kept = rows if len(positions) == count else table
    if 0 < len(positions) < count:
        places = np.arange(count)
        places[positions] = count + np.arange(len(positions))
        order: Any = pa.array(places)
        kept = Table(pa.concat_tables([table.arrow, rows.arrow]).take(order), table.row)
    empty = constant_column("", count)
    return OutcomeBatch(pa.array(np.arange(count)), empty, constant_column("kept", count), empty, empty, kept)
