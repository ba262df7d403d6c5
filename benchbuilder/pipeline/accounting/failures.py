"""Rows that failed: which they are, why, and how a retry is merged with what was kept before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pyarrow as pa

from benchbuilder.core import Table, TooManyFailures, schema_of
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard, filter_outcomes


def failed_row_ids(outcomes: pa.Table) -> set[str]:
    """The ids of the `each` rows with a failed branch."""
    return {str(row) for row in filter_outcomes(outcomes, outcome="failed").column("row").to_pylist()}


_NAMED_REASONS = 3
"""How many of the commonest reasons an error about failed rows names."""
_ROW_SPECIFIC = re.compile(r"""\s*\(after \d+ attempts?\)|'[^']*'|"[^"]*"|\b(?=\w*\d)[\w-]{12,}\b""")


def common_reasons(details: Iterable[str]) -> Counter[str]:
    """How many rows failed for each reason, without the parts that differ from row to row.

    >>> common_reasons(["busy (after 6 attempts)", "busy (after 2 attempts)", "no reply to 'a'", "no reply to 'b'"])
    Counter({'busy': 2, "no reply to 'a'": 2})
    """
    counts, first = Counter[str](), dict[str, str]()
    for detail in details:
        kind = _ROW_SPECIFIC.sub("", detail)
        counts[kind] += 1
        first.setdefault(kind, re.sub(r"\s*\(after \d+ attempts?\)", "", detail))
    return Counter({first[kind]: n for kind, n in counts.items()})


def too_many_failures(
    step: str, outcomes: Sequence[pa.Table], branches: int, tolerated: float, ledger: str
) -> TooManyFailures:
    """The error of a step of which more branches failed than the recipe tolerates."""
    details = pa.concat_tables(filter_outcomes(table, outcome="failed") for table in outcomes).column("detail")
    reasons = common_reasons(str(detail) for detail in details.to_pylist())
    common = "; ".join(f"{reason} ({n} of {len(details)})" for reason, n in reasons.most_common(_NAMED_REASONS))
    return TooManyFailures(
        f"{len(details)} of {branches} branches of step {step!r} failed",
        where=f"each is named in {ledger}",
        why=f"most often: {common}; the recipe tolerates {tolerated:.1%} (tolerate.failed_rows)",
        next="the same command runs the failed rows again; kept rows stay",
    )


def merge_retried(order: list[str], failed: set[str], old: Shard, fresh: Shard) -> Shard:
    """The shard of a step after a retry: the `old` shard, with the `fresh` results in place of the `failed` rows.

    `order` are the ids of all `each` rows, in order.
    """
    outcomes = [f for f in old.outcomes.to_pylist() if f["row"] not in failed] + fresh.outcomes.to_pylist()
    position = {row_id: index for index, row_id in enumerate(order)}
    outcomes.sort(key=lambda outcome: position[outcome["row"]])
    rows = {row["id"]: row for table in (old.rows, fresh.rows) for row in table.arrow.to_pylist()}
    kept = [rows[outcome["out"]] for outcome in outcomes if outcome["out"]]
    table = pa.Table.from_pylist(kept, schema=schema_of(old.rows.row))
    counted = old.tallies + fresh.tallies, old.notes | fresh.notes
    return Shard(Table(table, old.rows.row), pa.Table.from_pylist(outcomes, schema=OUTCOME_SCHEMA), *counted)
