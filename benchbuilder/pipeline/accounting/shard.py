"""The law: every ticket has exactly one fate, and a shard that does not balance is not committed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core.errors import TooManyFailures
from benchbuilder.core.records.arrow.batches import Tickets
from benchbuilder.core.records.arrow.build_rows import column, same
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Fate, Gathered, Kept, NotApplicable, Screened
from benchbuilder.core.records.row import Row
from benchbuilder.core.registry import row_class, row_name
from benchbuilder.pipeline.accounting.checks import check_details, check_fates, check_tickets, check_unique, refuse
from benchbuilder.steps.base import Filter, Gather, Map

FATES = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("port", "row", "slot", "fate", "reason", "detail", "out", "partition", "file")
    ]
    + [pa.field("line", pa.int64(), nullable=False)]
)
"""One line per ticket: which row of which port, its fate, the row it became, and where the row comes from."""


@dataclass(slots=True)
class Shard:
    """What one shard of a step made: rows, the fate of every ticket, and what was counted besides."""

    rows: Table[Any]
    fates: pa.Table
    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __reduce__(self) -> tuple[Any, ...]:
        # a row class with a payload is known by name in every process, but cannot be pickled
        return _unpickled, (row_name(self.rows.row), self.rows.arrow, self.fates, self.tallies, self.notes)

    def counts(self) -> Counter[tuple[str, str, str]]:
        """Tickets by (partition, fate, reason), the unused rows of whole ports left out."""
        counts = count_by(self.fates, ("partition", "fate", "reason"))
        return Counter({names: n for names, n in counts.items() if names[1] != "unused"})


def _unpickled(row: str, rows: pa.Table, *books: Any) -> Shard:
    return Shard(Table(rows, row_class(row)), *books)


def matching(fates: pa.Table, **values: str | int) -> pa.Table:
    """The lines of a fates table whose columns have these values."""
    compute: Any = pc
    for name, value in values.items():
        fates = fates.filter(compute.equal(fates.column(name), value))
    return fates


def count_by(fates: pa.Table, names: tuple[str, str, str]) -> Counter[tuple[str, str, str]]:
    """How many lines of a fates table share the values of three columns."""
    grouped = fates.group_by(list(names), use_threads=False).aggregate([([], "count_all")])
    columns = [grouped.column(name).to_pylist() for name in (*names, "count_all")]
    return Counter({(a, b, c): n for a, b, c, n in zip(*columns, strict=True)})


def fate_line(port: str, row: Row | Mapping[str, Any], fate: Fate) -> dict[str, Any]:
    """The line of the fates table for one ticket of `row` (or of its envelope as plain data)."""
    if isinstance(row, Row):
        row_id, partition, file, line = row.id, row.partition, row.origin.file, row.origin.line
    else:
        row_id, partition = row["id"], row["partition"]
        file, line = row["origin"]["file"], row["origin"]["line"]
    reason = detail = out = ""
    if isinstance(fate, Kept):
        name, out = "kept", fate.row.id
    elif isinstance(fate, Dropped):
        name, reason, detail = "dropped", fate.reason, fate.detail
    elif isinstance(fate, NotApplicable):
        name, reason = "not_applicable", fate.reason
    else:
        name, detail = "failed", fate.error
    return {
        "port": port, "row": row_id, "slot": fate.slot, "fate": name, "reason": reason, "detail": detail, "out": out,
        "partition": partition, "file": file, "line": line,
    }  # fmt: skip


def settle_map(stage: Map, rows: Sequence[Row], outcomes: Sequence[Sequence[Fate]], output: type[Row]) -> Shard:
    """The balanced shard of a map."""
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row, fates in zip(rows, outcomes, strict=True):
        check_fates(stage, row.id, fates, output)
        lines += [fate_line("each", row, fate) for fate in fates]
        kept += [fate.row for fate in fates if isinstance(fate, Kept)]
    return Shard(Table.of(kept, output), pa.Table.from_pylist(lines, schema=FATES))


def settle_tickets(stage: Map | Gather, table: Table[Any], tickets: Tickets, output: type[Row]) -> Shard:
    """The balanced shard of what was made by the column of a table of `each` rows."""
    kept = check_tickets(stage, table, tickets, output)
    places: Any = tickets.row.to_numpy(zero_copy_only=False)
    rows = tickets.rows.arrow
    whole = len(places) == len(table) and bool((places == np.arange(len(table))).all())
    lines = table.arrow if whole else table.arrow.select(["id", "partition", "origin"]).take(pa.array(places))
    said = {"slot": tickets.slots, "fate": tickets.fates, "reason": tickets.reasons, "detail": tickets.details}
    return Shard(tickets.rows, _lines(lines, kept, column(rows, "id"), said))


def _lines(table: pa.Table, kept: Any, out: Any, said: Mapping[str, Any]) -> pa.Table:
    """The fates of tickets of port `each`, one for each line of `table`; `out` are the ids that the kept ones became.

    `said` holds the columns of the other fields.
    """
    count = table.num_rows
    if len(out) != count:
        places: Any = np.where(kept, np.cumsum(kept), 0)
        out = pa.concat_arrays([pa.array([""]), out]).take(pa.array(places))
    columns = {
        "port": same("each", count),
        "row": column(table, "id"),
        **said,
        "out": out,
        "partition": column(table, "partition"),
        "file": column(table, "origin.file"),
        "line": column(table, "origin.line"),
    }
    return pa.table([columns[name] for name in FATES.names], schema=FATES)


def settle_filter(stage: Filter, table: Table[Any], screened: Screened) -> Shard:
    """The balanced shard of a filter: one verdict a row."""
    step, count = stage.context.step, len(table)
    reasons, details = _decoded(screened.reasons), _decoded(screened.details)
    if len(reasons) != count or len(details) != count:
        raise refuse(step, f"{count} rows but {len(reasons)} verdicts", "a filter gives one verdict a row")
    given = reasons.unique().to_pylist() if isinstance(reasons, pa.Array) else reasons
    if unknown := {reason for reason in given if reason is not None} - set(stage.reasons):
        raise refuse(step, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(stage.reasons)}")
    if not isinstance(details, pa.Array):
        check_details(step, details)
    elif details.null_count or not pa.types.is_string(details.type):
        raise refuse(step, f"its details are {details.type}, {details.null_count} of them null", "a detail is a string")
    told: Any = reasons if isinstance(reasons, pa.Array) else pa.array(reasons, pa.string())
    compute: Any = pc
    kept = told.is_null()
    rows: Any = table.arrow if told.null_count == count else table.arrow.filter(kept)
    said = {
        "slot": same("", count),
        "fate": compute.if_else(kept, "kept", "dropped"),
        "reason": compute.fill_null(told, ""),
        "detail": details if isinstance(details, pa.Array) else pa.array(details, pa.string()),
    }
    lines = _lines(table.arrow, kept.to_numpy(zero_copy_only=False), column(rows, "id"), said)
    return Shard(Table(rows, table.row), lines, screened.tallies)


def _decoded(texts: Any) -> Any:
    """Texts themselves, where they are given by their places in a dictionary."""
    return texts.dictionary_decode() if isinstance(texts, pa.DictionaryArray) else texts


def settle_gather(
    stage: Gather, tables: Mapping[str, Table[Any]], gathered: Gathered | Tickets, output: type[Row]
) -> Shard:
    """The balanced result of a gather: every `each` row has its fates, every `whole` row is a parent or unused."""
    step = stage.context.step
    if isinstance(gathered, Tickets):
        if whole := sorted(port for port in tables if stage.ports[port].mode == "whole"):
            raise refuse(
                step, f"the rows of {', '.join(whole)} have no fates", "tickets by the column have `each` only"
            )
        return settle_tickets(stage, tables["each"], gathered, output)
    envelopes = {port: _envelopes(table) for port, table in tables.items() if stage.ports[port].mode != "lookup"}
    each = envelopes.pop("each")
    check_unique(step, [row_id for row_id, _ in gathered.fates])
    if {row_id for row_id, _ in gathered.fates} != set(each):
        missing = set(each).symmetric_difference(row_id for row_id, _ in gathered.fates)
        raise refuse(step, f"{len(missing)} rows of port each without fates or unknown", f"such as {min(missing)}")
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row_id, fates in gathered.fates:
        check_fates(stage, row_id, fates, output)
        lines += [fate_line("each", each[row_id], fate) for fate in fates]
        kept += [fate.row for fate in fates if isinstance(fate, Kept)]
    if strange := set(gathered.unused) - set(envelopes):
        raise refuse(step, f"ports {sorted(strange)} have unused rows", "only rows of a `whole` port can be unused")
    used = {parent for row in kept for parent in row.parents} | {row.id for row in kept}
    for port, rows in envelopes.items():
        lines += _settle_whole(stage, port, rows, used, gathered.unused.get(port, {}))
    return Shard(Table.of(kept, output), pa.Table.from_pylist(lines, schema=FATES), notes=gathered.notes)


def _settle_whole(
    stage: Gather, port: str, rows: Mapping[str, dict[str, Any]], used: set[str], unused: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The lines of a whole port's unused rows: each row is a parent of an output or unused, never both or neither."""
    step = stage.context.step
    if lost := set(rows) - used - set(unused):
        raise refuse(step, f"{len(lost)} rows of port {port} vanish", f"such as {min(lost)}: neither used nor named")
    if both := (set(unused) & used) | (set(unused) - set(rows)):
        raise refuse(step, f"port {port} names rows as unused that are used or unknown", f"such as {min(both)}")
    if unknown := set(unused.values()) - set(stage.reasons):
        raise refuse(step, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(stage.reasons)}")
    return [{**fate_line(port, rows[row_id], Dropped(reason)), "fate": "unused"} for row_id, reason in unused.items()]


def _envelopes(table: Table[Any]) -> dict[str, dict[str, Any]]:
    columns = table.arrow.select(["id", "partition", "origin"]).to_pylist()
    return {row["id"]: row for row in columns}


def failed_rows(fates: pa.Table) -> set[str]:
    """Ids of the `each` rows that have a failed ticket."""
    return {str(row) for row in matching(fates, fate="failed").column("row").to_pylist()}


_REASONS = 3
"""How many of the commonest reasons are told where too many rows failed."""
_OWN_TO_A_ROW = re.compile(r"""\s*\(after \d+ attempts?\)|'[^']*'|"[^"]*"|\b(?=\w*\d)[\w-]{12,}\b""")


def common_reasons(details: Iterable[str]) -> Counter[str]:
    """How often rows failed for the same reason, told as the first row tells it; what is the row's own is set aside.

    >>> common_reasons(["busy (after 6 attempts)", "busy (after 2 attempts)", "no reply to 'a'", "no reply to 'b'"])
    Counter({'busy': 2, "no reply to 'a'": 2})
    """
    counts, first = Counter[str](), dict[str, str]()
    for detail in details:
        kind = _OWN_TO_A_ROW.sub("", detail)
        counts[kind] += 1
        first.setdefault(kind, re.sub(r"\s*\(after \d+ attempts?\)", "", detail))
    return Counter({first[kind]: n for kind, n in counts.items()})


def too_many(step: str, fates: Sequence[pa.Table], tickets: int, tolerated: float, ledger: str) -> TooManyFailures:
    """What to tell of a step of which more tickets failed than are tolerated."""
    told = pa.concat_tables(matching(table, fate="failed") for table in fates).column("detail")
    reasons = common_reasons(str(detail) for detail in told.to_pylist())
    common = "; ".join(f"{reason} ({n} of {len(told)})" for reason, n in reasons.most_common(_REASONS))
    return TooManyFailures(
        f"{len(told)} of {tickets} tickets of step {step!r} failed",
        where=f"each is named in {ledger}",
        why=f"most often: {common}; the recipe tolerates {tolerated:.1%} (tolerate.failed_rows)",
        next="the same command tries the failed rows again; what was kept is kept",
    )
