"""Where the rows behind the branches of a step are: by position where they stand in order, else by their ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import combined_column
from benchbuilder.explorer.reading.step_parts import StepParts, parts_of

IntArray = npt.NDArray[np.int64]
_NOWHERE = -1


@dataclass(frozen=True)
class InputPlaces:
    """Where the rows are that went into some branches: for each branch a number in `parts`, and the line there.

    The number is -1 for a branch whose row is in no part.
    """

    parts: tuple[tuple[StepParts, int], ...]
    part_of: IntArray
    lines: IntArray

    def by_part(self) -> Iterator[tuple[StepParts, int, IntArray]]:
        """Each part that holds some of the rows, with the places of their branches among those asked for."""
        for number in np.unique(self.part_of[self.part_of != _NOWHERE]).tolist():
            yield *self.parts[number], np.flatnonzero(self.part_of == number)


def output_lines(parts: StepParts, part: int, kept: npt.NDArray[np.bool_]) -> IntArray:
    """For each kept branch of a part, the line of its row there (-1: none). Rows stand in the order of branches."""
    if parts.rows_in_order.get(part):
        return np.arange(int(kept.sum()))
    ids: Any = combined_column(parts.row_columns(part, ["id"]), "id")
    outs: Any = combined_column(parts.outcome_columns(part, ["out"]), "out")
    wanted = outs.filter(pa.array(kept))
    parts.rows_in_order[part] = wanted.equals(ids)
    return np.arange(len(ids)) if parts.rows_in_order[part] else _places_in(wanted, ids)


def input_places(parts: StepParts, part: int, branches: IntArray) -> InputPlaces:
    """Where the rows are that went into some branches of a part, which are given by their lines."""
    steps = [parts_of(parts.build, manifest) for manifest in parts.inputs]
    places = tuple((step, number) for step in steps for number in range(step.count))
    first = parts.outcome_start(part)
    near, before = _part_with_row(places, first)
    if part not in parts.inputs_in_order:
        parts.inputs_in_order[part] = _are_in_order(parts, part, places, near, first - before)
    if parts.inputs_in_order[part]:
        return InputPlaces(places, np.full(len(branches), near), branches + (first - before))
    rows: Any = combined_column(parts.outcome_columns(part, ["row"]), "row")
    return _search(places, near, rows.take(branches))


def _part_with_row(places: tuple[tuple[StepParts, int], ...], row: int) -> tuple[int, int]:
    """The number of the part that holds row number `row` of all, and how many rows are before it."""
    before = 0
    for number, (step, part) in enumerate(places):
        rows = step.row_start(part + 1) - step.row_start(part)
        if before + rows > row:
            return number, before
        before += rows
    return 0, 0


def _are_in_order(
    parts: StepParts, part: int, places: tuple[tuple[StepParts, int], ...], near: int, offset: int
) -> bool:
    """Whether branch n of a part is of row `offset` + n of the part `near`, for every n."""
    count = parts.outcome_start(part + 1) - parts.outcome_start(part)
    if not places or offset < 0:
        return False
    step, number = places[near]
    if offset + count > step.row_start(number + 1) - step.row_start(number):
        return False
    ids: Any = combined_column(step.row_columns(number, ["id"]), "id").slice(offset, count)
    return bool(ids.equals(combined_column(parts.outcome_columns(part, ["row"]), "row")))


def _search(places: tuple[tuple[StepParts, int], ...], near: int, wanted: Any) -> InputPlaces:
    """Look for ids in all parts, beginning with those around `near`, until every one has its place."""
    found = InputPlaces(places, np.full(len(wanted), _NOWHERE), np.full(len(wanted), _NOWHERE))
    missing: IntArray = np.flatnonzero(np.asarray(pc.call_function("not_equal", [wanted, pa.scalar("")])))
    for number in sorted(range(len(places)), key=lambda number: abs(number - near)):
        if not len(missing):
            break
        step, part = places[number]
        ids = combined_column(step.row_columns(part, ["id"]), "id")
        lines = _places_in(wanted.take(missing), ids)
        here = lines != _NOWHERE
        found.part_of[missing[here]] = number
        found.lines[missing[here]] = lines[here]
        missing = missing[~here]
    return found


def _places_in(wanted: Any, ids: Any) -> IntArray:
    """The place of each of some ids among `ids`; -1 for one that is not there."""
    places = pc.call_function("index_in", [wanted], pc.SetLookupOptions(ids))
    return np.asarray(pc.call_function("coalesce", [places, pa.scalar(_NOWHERE, pa.int32())])).astype(np.int64)
