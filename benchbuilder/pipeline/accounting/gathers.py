"""Row accounting of gathers: the shards of steps that need all rows at once, made one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import (
    Dropped,
    FilterResult,
    GatherPiece,
    GatherResult,
    GatherStream,
    Kept,
    Row,
    RowIndex,
    Table,
    UnusedRows,
    combined_column,
    constant_column,
    schema_of,
    take_rows,
)
from benchbuilder.pipeline.accounting.checks import (
    check_outcomes,
    check_unique,
    check_unused_ports,
    check_unused_reasons,
    count_error,
    strange_unused_error,
    vanished_rows_error,
)
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard, account_batch, account_filter, outcome_line
from benchbuilder.steps import Gather

_WINDOW = 65_536
"""The most unused rows that are looked up at once."""
_compute: Any = pc
_PortTables = Mapping[str, Table[Any]]


def gather_shards(
    step: Gather, tables: _PortTables, gathered: GatherResult | FilterResult | GatherStream, output: type[Row]
) -> Iterator[Shard]:
    """The shards of a gather, one at least; rows of its `whole` ports are parents or unused.

    AccountingError if its counts do not add up. The shards before stay without effect: the step is not committed.
    """
    if isinstance(gathered, GatherStream):
        yield from _StreamAccount(step, tables, output).shards(gathered)
    elif isinstance(gathered, FilterResult):
        yield from _filtered_shards(step, tables, gathered)
    else:
        yield _account_rows(step, tables, gathered, output)


def account_gather(
    step: Gather, tables: _PortTables, gathered: GatherResult | FilterResult | GatherStream, output: type[Row]
) -> Shard:
    """The result of a gather as one shard; AccountingError if its counts do not add up."""
    shards = list(gather_shards(step, tables, gathered, output))
    tallies, notes = Counter[tuple[str, str, str]](), dict[str, Any]()
    for shard in shards:
        tallies.update(shard.tallies)
        notes |= shard.notes
    rows = Table.concat((shard.rows for shard in shards), output)
    return Shard(rows, pa.concat_tables(shard.outcomes for shard in shards), tallies, notes)


# --- rows that are kept as they are, or dropped


def _filtered_shards(step: Gather, tables: _PortTables, screened: FilterResult) -> Iterator[Shard]:
    step_name, table = step.context.step, tables["each"]
    if whole := sorted(port for port in tables if step.ports[port].mode == "whole"):
        raise count_error(
            step_name, f"the rows of {', '.join(whole)} have no outcomes", "a filter's result is of port `each` only"
        )
    count = len(table)
    if not count or len(screened.reasons) != count or len(screened.details) != count:
        yield account_filter(step, table, screened)
        return
    for start, window in table.windows():
        stop = start + len(window)
        part = FilterResult(screened.reasons[start:stop], screened.details[start:stop])
        if not start:
            part = replace(part, tallies=screened.tallies, notes=screened.notes)
        yield account_filter(step, window, part)


# --- pieces of rows


class _StreamAccount:
    """What was accounted for so far of the rows of all ports."""

    def __init__(self, step: Gather, tables: _PortTables, output: type[Row]) -> None:
        self._step, self._tables, self._output = step, tables, output
        self._ids = _column(tables["each"], "id")
        self._seen = np.zeros(len(self._ids), bool)
        whole = [port for port in tables if step.ports[port].mode == "whole"]
        self._indices = {port: RowIndex(_column(tables[port], "id").chunks) for port in whole}
        self._used = {port: np.zeros(len(tables[port]), bool) for port in whole}

    def shards(self, stream: GatherStream) -> Iterator[Shard]:
        """A shard for each piece; unused rows and the notes go with the last of them."""
        waiting: Shard | None = None
        for piece in stream.pieces:
            if waiting is not None:
                yield waiting
            waiting = self._shard(piece)
        self._check_seen()
        rows = Table(schema_of(self._output).empty_table(), self._output)
        last = waiting or Shard(rows, OUTCOME_SCHEMA.empty_table())
        last.notes = stream.notes
        for lines in self._unused_lines(stream.unused):
            last.outcomes = pa.concat_tables([last.outcomes, lines])
            if last.outcomes.num_rows >= _WINDOW:
                yield last
                last = Shard(rows, OUTCOME_SCHEMA.empty_table())
        yield last

    def _shard(self, piece: GatherPiece) -> Shard:
        step_name, places = self._step.context.step, piece.positions
        if len(places) != len(piece.each) or (len(places) and not 0 <= places.min() <= places.max() < len(self._seen)):
            raise count_error(step_name, "a piece names rows that are not there", f"it has {len(piece.each)} rows")
        chosen: Any = pa.array(places)
        if not self._ids.take(chosen).equals(piece.each.arrow.column("id")):
            raise count_error(step_name, "a piece has other rows than it names", "its rows are those of port each")
        if self._seen[places].any() or len(np.unique(places)) < len(places):
            raise count_error(step_name, "a row of port each is in two pieces", "a row has its outcomes once")
        self._seen[places] = True
        shard = account_batch(self._step, piece.each, piece.branches, self._output)
        self._mark_used(shard.rows.arrow)
        return shard

    def _mark_used(self, rows: pa.Table) -> None:
        ids: Any = combined_column(rows, "parents").flatten()  # pyright: ignore[reportAttributeAccessIssue]
        for port, index in self._indices.items():
            for some in (combined_column(rows, "id"), ids):
                places = index.positions(some)
                self._used[port][places[places >= 0]] = True

    def _check_seen(self) -> None:
        if lost := int((~self._seen).sum()):
            first = self._ids[int(np.flatnonzero(~self._seen)[0])].as_py()
            what = f"{lost} rows of port each without outcomes or unknown"
            raise count_error(self._step.context.step, what, f"such as {first}")

    def _unused_lines(self, unused_by_port: Mapping[str, UnusedRows]) -> Iterator[pa.Table]:
        """The lines of the unused rows of each `whole` port, some at a time."""
        check_unused_ports(self._step, unused_by_port, self._used)
        for port, used in self._used.items():
            none = UnusedRows(np.zeros(0, np.int64), pa.array([], pa.string()))
            unused = unused_by_port.get(port, none)
            self._check_unused(port, unused, used)
            count = len(unused.positions)
            for start, stop in pairwise([*range(0, count, _WINDOW), count]):
                yield self._lines(port, unused.positions[start:stop], unused.reasons[start:stop])

    def _check_unused(self, port: str, unused: UnusedRows, used: NDArray[np.bool_]) -> None:
        places, ids = unused.positions, _column(self._tables[port], "id")
        if len(unused.reasons) != len(places) or (len(places) and not 0 <= places.min() <= places.max() < len(used)):
            raise strange_unused_error(self._step, port, 1, "one that is not there")
        named = np.bincount(places, minlength=len(used))
        if len(lost := np.flatnonzero(~used & (named == 0))):
            raise vanished_rows_error(self._step, port, len(lost), ids[int(lost[0])].as_py())
        if len(both := np.flatnonzero((used & (named > 0)) | (named > 1))):
            raise strange_unused_error(self._step, port, len(both), ids[int(both[0])].as_py())
        check_unused_reasons(self._step, unused.reasons.unique().to_pylist())

    def _lines(self, port: str, places: NDArray[np.int64], reasons: Any) -> pa.Table:
        rows = take_rows(self._tables[port].arrow.select(["id", "partition", "origin"]), places)
        count, empty = len(places), constant_column("", len(places))
        columns = {
            "port": constant_column(port, count), "row": combined_column(rows, "id"), "slot": empty,
            "outcome": constant_column("unused", count), "reason": reasons.cast(pa.string()), "detail": empty,
            "out": empty, "partition": combined_column(rows, "partition"),
            "file": combined_column(rows, "origin.file"), "line": combined_column(rows, "origin.line"),
        }  # fmt: skip
        return pa.table([columns[name] for name in OUTCOME_SCHEMA.names], schema=OUTCOME_SCHEMA)


def _column(table: Table[Any], name: str) -> pa.ChunkedArray[Any]:
    """A column of a table, without the others."""
    chunks = [chunk for batch in table.batches([name]) for chunk in batch.column(name).chunks]
    return pa.chunked_array(chunks, schema_of(table.row).field(name).type)


# --- rows as objects


def _account_rows(step: Gather, tables: _PortTables, gathered: GatherResult, output: type[Row]) -> Shard:
    step_name = step.context.step
    headers: dict[str, dict[str, dict[str, Any]]] = {}
    for port, table in tables.items():
        if step.ports[port].mode != "lookup":
            batches = (batch.to_pylist() for batch in table.batches(["id", "partition", "origin"]))
            headers[port] = {row["id"]: row for rows in batches for row in rows}
    each, row_ids = headers.pop("each"), [row_id for row_id, _ in gathered.outcomes]
    check_unique(step_name, row_ids)
    if missing := set(each).symmetric_difference(row_ids):
        raise count_error(
            step_name, f"{len(missing)} rows of port each without outcomes or unknown", f"such as {min(missing)}"
        )
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row_id, outcomes in gathered.outcomes:
        check_outcomes(step, row_id, outcomes, output)
        lines += [outcome_line("each", each[row_id], outcome) for outcome in outcomes]
        kept += [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    check_unused_ports(step, gathered.unused, headers)
    used = {parent for row in kept for parent in row.parents} | {row.id for row in kept}
    for port, rows in headers.items():
        lines += _account_whole_port(step, port, rows, used, gathered.unused.get(port, {}))
    return Shard(Table.of(kept, output), pa.Table.from_pylist(lines, schema=OUTCOME_SCHEMA), notes=gathered.notes)


def _account_whole_port(
    step: Gather, port: str, rows: Mapping[str, dict[str, Any]], used: set[str], unused: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The lines of a `whole` port's unused rows; each of its rows is either a parent of an output or unused."""
    if lost := set(rows) - used - set(unused):
        raise vanished_rows_error(step, port, len(lost), min(lost))
    if both := (set(unused) & used) | (set(unused) - set(rows)):
        raise strange_unused_error(step, port, len(both), min(both))
    check_unused_reasons(step, unused.values())
    return [
        {**outcome_line(port, rows[row_id], Dropped(reason)), "outcome": "unused"} for row_id, reason in unused.items()
    ]
