"""Outcomes of branches: each branch (row, slot) has exactly one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from benchbuilder.core.records.row import Row


@dataclass(frozen=True, slots=True)
class Kept:
    """The branch became `row`."""

    row: Row
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The branch was dropped for a `reason` from the step's closed list; `detail` gives the evidence."""

    reason: str
    detail: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The step does not apply to the row; not counted as a loss. `reason` is from the step's closed list."""

    reason: str
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A temporary failure; the next run retries the branch."""

    error: str
    slot: str = ""


Outcome = Kept | Dropped | NotApplicable | Failed


@dataclass(slots=True)
class FilterResult:
    """The result of a filter: for each row of a table ``None`` (kept) or a reason, and a detail ("" if kept).

    Both are lists or Arrow arrays of strings (null for ``None``), plain or dictionary-encoded. `tallies` counts (tally,
    partition, key), for instance ("words", "medqa", "infant"), over all rows. `notes` are those of a gather (see
    `GatherResult`).
    """

    reasons: Sequence[str | None] | pa.Array[Any]
    details: Sequence[str] | pa.Array[Any]
    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class GatherResult:
    """The result of a gather: the outcomes of each row id of its `each` port, and unused rows of the other ports.

    A row of a `whole` port that is in no output's `parents` must be in ``unused[port]`` with a reason. `notes` is plain
    JSON data about the whole step (agreement, thresholds); its manifest stores it.
    """

    outcomes: list[tuple[str, list[Outcome]]]
    unused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """One unit of a source file. `file` is the name in the recipe; `line` counts from 1."""

    file: str
    line: int
    outcome: Kept | Dropped


@dataclass(frozen=True, slots=True)
class EndOfFile:
    """A source file was read to its end, with this number of `units`.

    `auxiliary` is set for a file that is joined into another one: the number of its rows by what became of them. Such
    rows have no branches of their own.
    """

    file: str
    units: int
    auxiliary: dict[str, int] | None = None
