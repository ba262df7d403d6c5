"""Fates: what becomes of a branch. Each branch (row, slot) has exactly one."""

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
    """The branch was dropped for a `reason` of the stage's closed list; `detail` says what was seen."""

    reason: str
    detail: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The branch does not concern the row; outside the loss funnel. `reason` is of the stage's closed list."""

    reason: str
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Something went wrong that may go right next time; the next run retries the branch."""

    error: str
    slot: str = ""


Outcome = Kept | Dropped | NotApplicable | Failed


@dataclass(slots=True)
class FilterResult:
    """What a filter says of a table: for each row ``None`` (kept) or a reason, and a detail ("" where kept).

    Both may be lists or Arrow arrays of strings (null for ``None``), plain or by a dictionary.

    `tallies` counts (tally, partition, key), for instance ("words", "medqa", "infant"), over all rows.
    """

    reasons: Sequence[str | None] | pa.Array[Any]
    details: Sequence[str] | pa.Array[Any]
    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])


@dataclass(slots=True)
class GatherResult:
    """What a gather made: for each row id of its `each` port its outcomes, for the other ports what it did not use.

    A row of a `whole` port that stands in no output's `parents` must be in ``unused[port]`` with a reason.
    `notes` is plain JSON data about the step as a whole (agreement, survivors), stored in its manifest.
    """

    outcomes: list[tuple[str, list[Outcome]]]
    unused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """One unit of a source file: what was read from it. `file` is the file as the recipe names it, `line` from 1."""

    file: str
    line: int
    outcome: Kept | Dropped


@dataclass(frozen=True, slots=True)
class EndOfFile:
    """A source file was read to its end. `units` counts its units; `used` how many of an auxiliary file's rows were
    used (auxiliary files are joined into the driving one, and their rows make no branches of their own)."""

    file: str
    units: int
    auxiliary: dict[str, int] | None = None
