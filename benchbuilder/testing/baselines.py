"""The contract of baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.roles import AnswerOutcome
from benchbuilder.evaluation.baselines.base import Baseline
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process

BaselineAnswers = list[tuple[str, str]]


def check_baseline(make: Callable[[], Baseline], items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    """The same item gets the same answer in any order and process; one without a text says what became of it.

    Returns the answers with their outcomes.
    """
    who = f"the baseline {make().kind!r}"
    found = _answers(make(), items, workplace)
    for text, outcome in found:
        require(outcome in get_args(AnswerOutcome), f"{who} gives the outcome {outcome!r}")
        require(bool(text) == (outcome in ("complete", "truncated")), f"{who} gives {text!r} with {outcome!r}")
        require(text == text.strip(), f"{who} gives white space around {text!r}")
    require(_answers(make(), items[::-1], workplace) == found[::-1], f"{who} depends on the order of items")
    table = Table.of(items, type(items[0]))
    require(in_worker_process(_answers_from_table, make(), table.arrow, items[0].payload.kind, workplace) == found,
            f"{who} gives other answers in another process")  # fmt: skip
    return found


def _answers(baseline: Baseline, items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    baseline.open(workplace)
    return [baseline.answer(item) for item in items]


def _answers_from_table(baseline: Baseline, arrow: Any, payload: str, workplace: Path) -> BaselineAnswers:
    """Generic rows do not travel; their table does."""
    from benchbuilder.core.registry import row_class

    rows: Any = list(Table(arrow, row_class(f"item[{payload}]")))
    return _answers(baseline, rows, workplace)
