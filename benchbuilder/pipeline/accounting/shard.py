"""Row accounting: makes shards in which every branch has exactly one outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import (
    Dropped,
    FilterResult,
    Kept,
    NotApplicable,
    Outcome,
    OutcomeBatch,
    Row,
    Table,
    combined_column,
    constant_column,
    row_class,
    row_name,
)
from benchbuilder.pipeline.accounting.checks import (
    branch_texts,
    check_details,
    check_outcome_batch,
    check_outcomes,
    count_error,
)
from benchbuilder.steps import Filter, Gather, Map

OUTCOME_SCHEMA = pa.schema(
    [
        pa.field(name, pa.string(), nullable=False)
        for name in ("port", "row", "slot", "outcome", "reason", "detail", "out", "partition", "file")
    ]
    + [pa.field("line", pa.int64(), nullable=False)]
)
"""One line per branch: the row and its port, the outcome, the row that it became, and where the row comes from."""


@dataclass(slots=True)
class Shard:
    """The result of one shard of a step: rows, the outcome of every branch, and further counts."""

    rows: Table[Any]
    outcomes: pa.Table
    tallies: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    notes: dict[str, Any] = field(default_factory=dict[str, Any])

    def __reduce__(self) -> tuple[Any, ...]:
        # a row class with a payload is known by name in every process, but cannot be pickled
        return _rebuild_shard, (row_name(self.rows.row), self.rows.arrow, self.outcomes, self.tallies, self.notes)

    def counts(self) -> Counter[tuple[str, str, str]]:
        """Branches by (partition, outcome, reason), without the unused rows of `whole` ports."""
        counts = count_outcomes_by(self.outcomes, ("partition", "outcome", "reason"))
        return Counter({names: n for names, n in counts.items() if names[1] != "unused"})


def _rebuild_shard(row: str, rows: pa.Table, *others: Any) -> Shard:
    return Shard(Table(rows, row_class(row)), *others)


def filter_outcomes(outcomes: pa.Table, **values: str | int) -> pa.Table:
    """The lines of an outcomes table whose columns have these values."""
    compute: Any = pc
    for name, value in values.items():
        outcomes = outcomes.filter(compute.equal(outcomes.column(name), value))
    return outcomes


def count_outcomes_by(outcomes: pa.Table, names: tuple[str, str, str]) -> Counter[tuple[str, str, str]]:
    """How many lines of an outcomes table share the values of three columns."""
    grouped = outcomes.group_by(list(names), use_threads=False).aggregate([([], "count_all")])
    columns = [grouped.column(name).to_pylist() for name in (*names, "count_all")]
    return Counter({(a, b, c): n for a, b, c, n in zip(*columns, strict=True)})


def outcome_line(port: str, row: Row | Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
    """The line of the outcomes table for one branch of `row` (or of its header as plain data)."""
    if isinstance(row, Row):
        row_id, partition, file, line = row.id, row.partition, row.origin.file, row.origin.line
    else:
        row_id, partition = row["id"], row["partition"]
        file, line = row["origin"]["file"], row["origin"]["line"]
    reason = detail = out = ""
    if isinstance(outcome, Kept):
        name, out = "kept", outcome.row.id
    elif isinstance(outcome, Dropped):
        name, reason, detail = "dropped", outcome.reason, outcome.detail
    elif isinstance(outcome, NotApplicable):
        name, reason = "not_applicable", outcome.reason
    else:
        name, detail = "failed", outcome.error
    return {
        "port": port, "row": row_id, "slot": outcome.slot, "outcome": name, "reason": reason, "detail": detail,
        "out": out, "partition": partition, "file": file, "line": line,
    }  # fmt: skip


def account_map(
    step: Map, rows: Sequence[Row], outcomes_by_row: Sequence[Sequence[Outcome]], output: type[Row]
) -> Shard:
    """The shard of a map; AccountingError if its counts do not add up."""
    lines: list[dict[str, Any]] = []
    kept: list[Row] = []
    for row, outcomes in zip(rows, outcomes_by_row, strict=True):
        check_outcomes(step, row.id, outcomes, output)
        lines += [outcome_line("each", row, outcome) for outcome in outcomes]
        kept += [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
    return Shard(Table.of(kept, output), pa.Table.from_pylist(lines, schema=OUTCOME_SCHEMA))


def account_batch(step: Map | Gather, table: Table[Any], branches: OutcomeBatch, output: type[Row]) -> Shard:
    """The shard of outcomes that are given as columns; AccountingError if its counts do not add up."""
    kept = check_outcome_batch(step, table, branches, output)
    places: Any = branches.row_position.to_numpy(zero_copy_only=False)
    rows = branches.rows.arrow
    whole = len(places) == len(table) and bool((places == np.arange(len(table))).all())
    lines = table.arrow if whole else table.arrow.select(["id", "partition", "origin"]).take(pa.array(places))
    return Shard(branches.rows, _lines(lines, kept, combined_column(rows, "id"), branch_texts(branches)))


def _lines(table: pa.Table, kept: Any, out: Any, columns_by_name: Mapping[str, Any]) -> pa.Table:
    """The outcomes table of branches of the port `each`.

    Args:
        table: The row of each branch.
        kept: A mask of the kept branches.
        out: The ids of the rows that the kept ones became.
        columns_by_name: The columns of the other fields.
    """
    count = table.num_rows
    if len(out) != count:
        places: Any = np.where(kept, np.cumsum(kept), 0)
        out = pa.concat_arrays([pa.array([""]), out]).take(pa.array(places))
    columns = {
        "port": constant_column("each", count),
        "row": combined_column(table, "id"),
        **columns_by_name,
        "out": out,
        "partition": combined_column(table, "partition"),
        "file": combined_column(table, "origin.file"),
        "line": combined_column(table, "origin.line"),
    }
    return pa.table([columns[name] for name in OUTCOME_SCHEMA.names], schema=OUTCOME_SCHEMA)


def account_filter(step: Filter | Gather, table: Table[Any], screened: FilterResult) -> Shard:
    """The shard of rows that are kept as they are or dropped; AccountingError if its counts do not add up."""
    step_name, count = step.context.step, len(table)
    reasons, details = _decode_dictionary(screened.reasons), _decode_dictionary(screened.details)
    if len(reasons) != count or len(details) != count:
        raise count_error(step_name, f"{count} rows but {len(reasons)} results", "a filter gives one result per row")
    distinct = reasons.unique().to_pylist() if isinstance(reasons, pa.Array) else reasons
    if unknown := {reason for reason in distinct if reason is not None} - set(step.reasons):
        raise count_error(step_name, f"undeclared reasons {sorted(unknown)}", f"declared: {', '.join(step.reasons)}")
    if not isinstance(details, pa.Array):
        check_details(step_name, details)
    elif details.null_count or not pa.types.is_string(details.type):
        raise count_error(
            step_name, f"its details are {details.type}, {details.null_count} of them null", "a detail is a string"
        )
    reason_column: Any = reasons if isinstance(reasons, pa.Array) else pa.array(reasons, pa.string())
    compute: Any = pc
    kept = reason_column.is_null()
    rows: Any = table.arrow if reason_column.null_count == count else table.arrow.filter(kept)
    columns = {
        "slot": constant_column("", count),
        "outcome": compute.if_else(kept, "kept", "dropped"),
        "reason": compute.fill_null(reason_column, ""),
        "detail": details if isinstance(details, pa.Array) else pa.array(details, pa.string()),
    }
    lines = _lines(table.arrow, kept.to_numpy(zero_copy_only=False), combined_column(rows, "id"), columns)
    return Shard(Table(rows, table.row), lines, screened.tallies, screened.notes)


def _decode_dictionary(texts: Any) -> Any:
    """Texts as a plain array, if they are dictionary-encoded."""
    return texts.dictionary_decode() if isinstance(texts, pa.DictionaryArray) else texts
