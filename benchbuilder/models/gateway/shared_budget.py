"""One cap over several journals."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchbuilder.config import BudgetSpec
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.usage import total_spent

_NOTHING = 1e-12


def remaining_budget(budget: BudgetSpec, journals: Iterable[Path]) -> BudgetSpec:
    """What other `journals` leave of the caps of a `budget`: next to nothing, where they have spent it all."""
    usd, tokens = 0.0, 0
    for file in journals:
        journal = Journal(file)
        try:
            more = total_spent(journal)
        finally:
            journal.close()
        usd, tokens = usd + more[0], tokens + more[1]
    return budget.model_copy(update={
        "usd": None if budget.usd is None else max(budget.usd - usd, _NOTHING),
        "tokens": None if budget.tokens is None else max(budget.tokens - tokens, 1),
    })  # fmt: skip


def sibling_journals(task: Path, name: str) -> list[Path]:
    """The journals called `name` of the evaluations of other tasks than the one whose folder is `task`."""
    found = task.parent.glob(f"*/evaluation*/{name}")
    return sorted(file for file in found if file.parents[1] != task)
