"""Outcomes as columns, for steps that say what became of some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from benchbuilder.core import Dropped, Kept, NotApplicable, Outcome, OutcomeBatch, Row, Table


def outcome_columns(branches: Iterable[tuple[int, Outcome]], row: type[Row]) -> OutcomeBatch:
    """Branches, each with the place of its row; what is kept is of class `row`."""
    places, rows, told = list[int](), list[Row](), list[tuple[str, str, str, str]]()
    for place, outcome in branches:
        places.append(place)
        told.append(_told(outcome))
        rows += [outcome.row] if isinstance(outcome, Kept) else []
    slots, kinds, reasons, details = (pa.array([line[part] for line in told], pa.string()) for part in range(4))
    return OutcomeBatch(pa.array(places, pa.int64()), slots, kinds, reasons, details, Table.of(rows, row))


def _told(outcome: Outcome) -> tuple[str, str, str, str]:
    """Slot, outcome, reason and detail of a branch."""
    if isinstance(outcome, Dropped):
        return outcome.slot, "dropped", outcome.reason, outcome.detail
    if isinstance(outcome, NotApplicable):
        return outcome.slot, "not_applicable", outcome.reason, ""
    return outcome.slot, "kept", "", ""
