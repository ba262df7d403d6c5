"""Pages of the branches of a step: filtered, searched, by cursor; never a whole step in memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import combined_column
from benchbuilder.explorer.reading.step_parts import StepParts, parts_of
from benchbuilder.explorer.reading.text_search import BoolArray, TextQuery, rows_with_text, text_leaves

PAGE_ROWS = 50
FIRST_PAGE_SECONDS = 10.0
"""How long a page may search before it says which parts it did not reach."""
LOST = "lost"
"""Stands for the outcomes by which a branch is lost."""
_LOST_OUTCOMES = ("dropped", "failed")
_COLUMNS = ("row", "detail", "out", "file", "line")


@dataclass(frozen=True)
class BranchFilter:
    """Which branches of a step to show; empty values do not filter."""

    source: str = ""
    outcome: str = ""
    reason: str = ""
    query: TextQuery | None = None

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """The values that each column of outcomes may have."""
        outcomes = _LOST_OUTCOMES if self.outcome == LOST else (self.outcome,)
        values = {"partition": (self.source,), "outcome": outcomes, "reason": (self.reason,)}
        return {name: chosen for name, chosen in values.items() if chosen != ("",)}

    def has(self, partition: str, outcome: str, reason: str) -> bool:
        """Whether a line of counts belongs to it."""
        line = {"partition": partition, "outcome": outcome, "reason": reason}
        return all(line[name] in chosen for name, chosen in self.wanted().items())


@dataclass(frozen=True)
class BranchRow:
    """One branch: how it ended, and the texts of the row that came out, or of the one that went in and was lost.

    `id` is the id of that row, empty for a unit of a file that became no row. `texts` maps fields to their values.
    """

    part: int
    line: int
    outcome: str
    reason: str
    detail: str
    id: str
    source: str
    file: str
    unit: int
    texts: Mapping[str, str]

    @property
    def cursor(self) -> str:
        """Where the page after this branch begins."""
        return f"{self.part}.{self.line}"


@dataclass(frozen=True)
class BranchPage:
    """Some branches; `after` is the cursor of the next page, empty at the end.

    `searched` of `parts` were looked at; a page that ran out of time says so by `is_partial`.
    """

    rows: tuple[BranchRow, ...]
    after: str
    searched: int
    parts: int
    is_partial: bool = False


@dataclass(frozen=True)
class FacetCounts:
    """How many branches of a selection have each source, outcome and reason, by the manifest alone."""

    total: int
    sources: Mapping[str, int]
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]


def facet_counts(parts: StepParts, chosen: BranchFilter) -> FacetCounts:
    """Count each facet under the filters of the other two."""
    counts = parts.manifest.counts

    def by(place: int, **dropped: str) -> dict[str, int]:
        others, counter = replace(chosen, **dropped), Counter[str]()
        for line in counts:
            if others.has(*line[:3]) and line[place]:
                counter[str(line[place])] += line[3]
        return dict(counter.most_common())

    total = sum(n for *names, n in counts if chosen.has(names[0], names[1], names[2]))
    return FacetCounts(total, by(0, source=""), by(1, outcome=""), by(2, reason=""))


def read_page(
    parts: StepParts, chosen: BranchFilter, after: str = "", *, size: int = PAGE_ROWS,
    seconds: float = FIRST_PAGE_SECONDS,
) -> BranchPage:  # fmt: skip
    """The first `size` branches after a cursor."""
    first, line = parse_cursor(after)
    found: list[BranchRow] = []
    deadline = time.monotonic() + seconds
    for part in range(first, parts.count):
        begin = line + 1 if part == first else 0
        lines = matching_lines(parts, part, chosen)
        lines = lines[np.searchsorted(lines, begin) :]
        found += read_branches(parts, part, lines[: size + 1 - len(found)])
        if len(found) > size:
            return BranchPage(tuple(found[:size]), found[size - 1].cursor, part + 1, parts.count)
        if time.monotonic() > deadline and part + 1 < parts.count:
            return BranchPage(tuple(found), f"{part}.{_END}", part + 1, parts.count, is_partial=True)
    return BranchPage(tuple(found), "", parts.count, parts.count)


_END = 1 << 40
"""A line after every line of a part."""


def parse_cursor(cursor: str) -> tuple[int, int]:
    """The part and line of a cursor; the beginning for anything else."""
    part, _, line = cursor.partition(".")
    if part.isascii() and line.isascii() and part.isdigit() and line.isdigit() and len(cursor) < 40:
        return int(part), int(line)
    return 0, -1


def matching_lines(parts: StepParts, part: int, chosen: BranchFilter) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The lines of the branches of a part that a filter lets through, in order."""
    wanted = chosen.wanted()
    if wanted and not parts.may_hold(part, wanted):
        return np.empty(0, np.int64)
    facets = parts.facets(part, list(dict.fromkeys(("outcome", *wanted))))
    keep = ~_is_one_of(facets, "outcome", ("unused",))
    for name, values in wanted.items():
        keep &= _is_one_of(facets, name, values)
    if chosen.query is not None and keep.any():
        keep &= _lines_with_text(parts, part, _is_one_of(facets, "outcome", ("kept",)), keep, chosen.query)
    return np.flatnonzero(keep)


def _is_one_of(table: pa.Table, name: str, values: Sequence[str]) -> BoolArray:
    column = table.column(name)
    found = pc.call_function("is_in", [column], pc.SetLookupOptions(pa.array(list(values), pa.string())))
    return np.asarray(found.to_numpy())


def _lines_with_text(parts: StepParts, part: int, kept: BoolArray, keep: BoolArray, query: TextQuery) -> BoolArray:
    """Which branches hold the query: in the row that came out, in the one that was lost, or in the detail."""
    found = rows_with_text(parts.outcome_columns(part, ["detail"]), query)
    if (kept & keep).any():
        texts = rows_with_text(parts.row_columns(part, text_leaves(parts.schema)), query)
        if texts.any():
            lines = output_lines(parts, part, kept)
            found[kept] |= np.where(lines >= 0, texts[lines], False)
    lost = np.flatnonzero(~kept & keep & ~found)
    if len(lost):
        places = input_places(parts, part, lost)
        for step, at, those in places.by_part():
            texts = rows_with_text(step.row_columns(at, text_leaves(step.schema)), query)
            found[lost[those]] = texts[places.lines[those]]
    return found


def read_branches(parts: StepParts, part: int, lines: np.ndarray[Any, np.dtype[np.int64]]) -> list[BranchRow]:
    """The branches at some lines of a part, with the texts of their rows."""
    if not len(lines):
        return []
    facets = parts.facets(part)
    kept = _is_one_of(facets, "outcome", ("kept",))
    names = [name for name in _COLUMNS if name != "out" or kept[lines].any()]
    outcomes: list[dict[str, Any]] = parts.outcome_columns(part, names).take(lines).to_pylist()
    both = zip(outcomes, facets.take(lines).to_pylist(), strict=True)
    chosen = [{"out": ""} | outcome | facet for outcome, facet in both]
    texts: dict[str, dict[str, str]] = {}
    outs = [line["out"] for line in chosen if line["out"]]
    if outs:
        at = output_lines(parts, part, kept)[np.cumsum(kept)[lines[kept[lines]]] - 1]
        table = parts.row_columns(part, shown_fields(parts.schema)).take(at)
        texts |= {out: shown_texts(row) for out, row in zip(outs, table.to_pylist(), strict=True)}
    numbers = [int(line) for line in lines]
    lost = {line["row"]: at for line, at in zip(chosen, numbers, strict=True) if line["row"] and not line["out"]}
    texts |= _texts_of_inputs(parts, part, lost)
    return [_branch(part, at, line, texts) for at, line in zip(numbers, chosen, strict=True)]


def _texts_of_inputs(parts: StepParts, part: int, branches: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """The texts of rows that went into a step, by their ids; each is given with the line of a branch of it."""
    texts: dict[str, dict[str, str]] = {}
    if not branches:
        return texts
    rows, places = list(branches), input_places(parts, part, np.array(list(branches.values()), np.int64))
    for step, at, those in places.by_part():
        table = step.row_columns(at, shown_fields(step.schema)).take(places.lines[those])
        texts |= {rows[place]: shown_texts(data) for place, data in zip(those, table.to_pylist(), strict=True)}
    return texts


def _branch(part: int, at: int, line: Mapping[str, Any], texts: Mapping[str, Mapping[str, str]]) -> BranchRow:
    row = line["out"] or line["row"]
    return BranchRow(
        part, at, line["outcome"], line["reason"], line["detail"], row, line["partition"], line["file"], line["line"],
        texts.get(row, {}),
    )  # fmt: skip


_SHOWN = ("text", "question", "head", "relation", "tail", "answer", "answer_wrong", "claim", "term", "title")
_MOST_FIELDS = 4


def shown_fields(schema: pa.Schema) -> list[str]:
    """The fields of rows that a table of them shows, by dotted name: those that say most, in their order."""
    leaves = text_leaves(schema)
    by_name = {name.rpartition(".")[2]: name for name in reversed(leaves)}
    chosen = [by_name[name] for name in _SHOWN if name in by_name]
    return (chosen or leaves or ["id"])[:_MOST_FIELDS]


def shown_texts(row: Mapping[str, Any]) -> dict[str, str]:
    """The texts of a row as plain data, by the last part of their names; empty ones are left out."""
    texts: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            texts |= shown_texts(value)
        elif isinstance(value, str) and value:
            texts[name] = value
        elif isinstance(value, list) and value:
            texts[name] = " | ".join(_joined(part) for part in value)
    return texts


def _joined(part: Any) -> str:
    return " ".join(map(str, part.values())) if isinstance(part, Mapping) else str(part)


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
