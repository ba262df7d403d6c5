"""The outcomes of a gather as objects, whatever it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbuilder.core import Dropped, Kept, NotApplicable, Outcome, Row, Table
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps import Gather


def outcomes_of(
    step: Gather, tables: Mapping[str, Table[Any]], output: type[Row]
) -> tuple[dict[str, Outcome], dict[str, Any]]:
    """What became of each row of the port `each`, by its id and in its order, and the notes."""
    shard = account_gather(step, tables, step.gather(tables), output)
    made = {row.id: row for row in shard.rows}
    lines = shard.outcomes.to_pylist()
    return {line["row"]: _outcome(line, made) for line in lines if line["port"] == "each"}, shard.notes


def _outcome(line: Mapping[str, str], made: Mapping[str, Row]) -> Outcome:
    if line["outcome"] == "kept":
        return Kept(made[line["out"]])
    if line["outcome"] == "dropped":
        return Dropped(line["reason"], line["detail"])
    return NotApplicable(line["reason"])
