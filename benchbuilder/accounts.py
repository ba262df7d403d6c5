"""The law: every ticket has exactly one fate, and a shard that does not balance is not committed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.errors import AccountsError, TooManyFailures
from benchbuilder.kinds import row_class, row_name
from benchbuilder.ports.stage import Filter, Gather, Map, Stage
from benchbuilder.records.envelope import Row
from benchbuilder.records.fates import Dropped, Failed, Fate, Gathered, Kept, NotApplicable, Screened
from benchbuilder.records.table import Table

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


def _refuse(step: str, what: str, why: str) -> AccountsError:
    return AccountsError(
        f"the accounts of step {step!r} do not balance: {what}",
        why=why,
        next="this is a bug in the kind of the step; nothing of the shard was committed: report it with this message",
    )


def check_fates(stage: Stage, row_id: str, fates: Sequence[Fate], output: type[Row]) -> None:
    """Each ticket of a row exactly one fate, reasons from the closed list, rows of class `output` that come from it.

    AccountsError otherwise.
    """
    step = stage.context.step
    slots = [fate.slot for fate in fates]
    declared = stage.slots if isinstance(stage, Map) else "many" if isinstance(stage, Gather) else ("",)
    if declared == "many":
        if not fates:
            raise _refuse(step, f"row {row_id} has no ticket", "a row of `many` slots needs at least one fate")
        if len(set(slots)) != len(slots):
            raise _refuse(step, f"row {row_id} has two fates in one slot", f"slots: {slots}")
    elif sorted(slots) != sorted(declared):
        raise _refuse(step, f"row {row_id} has tickets {sorted(slots)}", f"the kind declares {sorted(declared)}")
    for fate in fates:
        if isinstance(fate, Kept):
            _check_kept(step, row_id, fate.row, output)
            continue
        if isinstance(fate, Dropped | NotApplicable) and fate.reason not in stage.reasons:
            raise _refuse(step, f"row {row_id} has the undeclared reason {fate.reason!r}",
                          f"declared: {', '.join(stage.reasons) or 'none'}")  # fmt: skip
        said = fate.detail if isinstance(fate, Dropped) else fate.error if isinstance(fate, Failed) else ""
        _check_details(step, [said])


def _check_details(step: str, details: Sequence[object]) -> None:
    if wrong := [detail for detail in details if not isinstance(detail, str)]:
        raise _refuse(step, f"a row has the detail {wrong[0]!r}", "a detail is a string")


def _check_kept(step: str, row_id: str, row: Row, output: type[Row]) -> None:
    if type(row) is not output:
        raise _refuse(step, f"row {row_id} became a {type(row).__name__}", f"the step makes {output.__name__}")
    if row.id != row_id and (row.of != row_id or row_id not in row.parents):
        raise _refuse(
            step, f"row {row_id} became {row.id}, which names {row.of or 'no row'} as the one that it comes from",
            "a kept row is the row itself or a child of it",
        )  # fmt: skip


def check_unique(step: str, ids: pa.ChunkedArray[Any] | Sequence[str]) -> None:
    """Ids are unique in a table; AccountsError otherwise."""
    column: Any = ids if isinstance(ids, pa.ChunkedArray) else pa.chunked_array([pa.array(ids, pa.string())])
    if pc.count_distinct(column).as_py() == len(column):
        return
    twice = [pair["values"] for pair in column.value_counts().to_pylist() if pair["counts"] > 1]
    raise _refuse(
        step,
        f"{len(twice)} id{' occurs' if len(twice) == 1 else 's occur'} twice, for instance {min(twice)}",
        "equal rows must come from different parents",
    )


def settle_map(stage: Map, rows: Sequence[Row], outcomes: Sequence[Sequence[Fate]], output: type[Row]) -> Shard:
    """The balanced shard of a map."""
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row, fates in zip(rows, outcomes, strict=True):
        check_fates(stage, row.id, fates, output)
        lines += [fate_line("each", row, fate) for fate in fates]
        kept += [fate.row for fate in fates if isinstance(fate, Kept)]
    return Shard(Table.of(kept, output), pa.Table.from_pylist(lines, schema=FATES))


def settle_filter(stage: Filter, table: Table[Any], screened: Screened) -> Shard:
    """The balanced shard of a filter: one verdict a row."""
    step, count = stage.context.step, len(table)
    if len(screened.reasons) != count or len(screened.details) != count:
        raise _refuse(step, f"{count} rows but {len(screened.reasons)} verdicts", "a filter gives one verdict a row")
    if unknown := {reason for reason in screened.reasons if reason is not None} - set(stage.reasons):
        raise _refuse(step, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(stage.reasons)}")
    _check_details(step, screened.details)
    kept = [reason is None for reason in screened.reasons]
    ids = table.ids()
    fates = {
        "port": ["each"] * count,
        "row": ids,
        "slot": [""] * count,
        "fate": ["kept" if keep else "dropped" for keep in kept],
        "reason": [reason or "" for reason in screened.reasons],
        "detail": screened.details,
        "out": [row_id if keep else "" for row_id, keep in zip(ids, kept, strict=True)],
        "partition": table.column("partition"),
        "file": table.column("origin.file"),
        "line": table.column("origin.line"),
    }
    rows = Table(table.arrow.filter(pa.array(kept, pa.bool_())), table.row)
    return Shard(rows, pa.Table.from_pydict(fates, schema=FATES), screened.tallies)


def settle_gather(stage: Gather, tables: Mapping[str, Table[Any]], gathered: Gathered, output: type[Row]) -> Shard:
    """The balanced result of a gather: every `each` row has its fates, every `whole` row is a parent or unused."""
    step = stage.context.step
    envelopes = {port: _envelopes(table) for port, table in tables.items() if stage.ports[port].mode != "lookup"}
    each = envelopes.pop("each")
    check_unique(step, [row_id for row_id, _ in gathered.fates])
    if {row_id for row_id, _ in gathered.fates} != set(each):
        missing = set(each).symmetric_difference(row_id for row_id, _ in gathered.fates)
        raise _refuse(step, f"{len(missing)} rows of port each without fates or unknown", f"such as {min(missing)}")
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row_id, fates in gathered.fates:
        check_fates(stage, row_id, fates, output)
        lines += [fate_line("each", each[row_id], fate) for fate in fates]
        kept += [fate.row for fate in fates if isinstance(fate, Kept)]
    if strange := set(gathered.unused) - set(envelopes):
        raise _refuse(step, f"ports {sorted(strange)} have unused rows", "only rows of a `whole` port can be unused")
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
        raise _refuse(step, f"{len(lost)} rows of port {port} vanish", f"such as {min(lost)}: neither used nor named")
    if both := (set(unused) & used) | (set(unused) - set(rows)):
        raise _refuse(step, f"port {port} names rows as unused that are used or unknown", f"such as {min(both)}")
    if unknown := set(unused.values()) - set(stage.reasons):
        raise _refuse(step, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(stage.reasons)}")
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
