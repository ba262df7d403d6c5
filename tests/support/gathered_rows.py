"""What a gather made, as the outcomes of its rows, whichever way it returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, GatherResult, Kept, NotApplicable, Outcome
from benchbuilder.pipeline.accounting.gathers import account_gather


def run_gather(step: Any, tables: Mapping[str, Table[Any]], output: Any = None) -> GatherResult:
    """Run a gather over tables and account for it; the rows come in the order of their outcomes."""
    shard = account_gather(step, tables, step.gather(tables), output or step.output or tables["each"].row)
    rows = {row.id: row for row in shard.rows}
    outcomes: dict[str, list[Outcome]] = {}
    unused: dict[str, dict[str, str]] = {port: {} for port in tables if step.ports[port].mode == "whole"}
    for line in shard.outcomes.to_pylist():
        if line["port"] != "each":
            unused[line["port"]][line["row"]] = line["reason"]
            continue
        slot, reason = line["slot"], line["reason"]
        if line["outcome"] == "kept":
            outcome: Outcome = Kept(rows[line["out"]], slot)
        else:
            dropped = line["outcome"] == "dropped"
            outcome = Dropped(reason, line["detail"], slot) if dropped else NotApplicable(reason, slot)
        outcomes.setdefault(line["row"], []).append(outcome)
    return GatherResult(list(outcomes.items()), unused, shard.notes)
