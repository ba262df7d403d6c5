"""The contract of baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args

from benchbuilder.core import AnswerOutcome, Item, Table
from benchbuilder.evaluation import Baseline
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process

BaselineAnswers = list[tuple[str, str]]


def check_baseline(make: Callable[[], Baseline], items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    """Check a baseline: the same item gets the same answer in any order and process.

    Args:
        make: Makes a new baseline.
        items: Example items, all with the same kind of payload.
        workplace: The folder that the baseline is opened with.

    Returns:
        The text and the outcome of each answer; it has text exactly if its outcome is ``complete`` or ``truncated``.

    Raises:
        ContractError: The baseline breaks a promise.
    """
    who = f"the baseline {make().kind!r}"
    answers = _answers(make(), items, workplace)
    for text, outcome in answers:
        require(outcome in get_args(AnswerOutcome), f"{who} gives the outcome {outcome!r}")
        require(bool(text) == (outcome in ("complete", "truncated")), f"{who} gives {text!r} with {outcome!r}")
        require(text == text.strip(), f"{who} gives white space around {text!r}")
    require(_answers(make(), items[::-1], workplace) == answers[::-1], f"{who} depends on the order of items")
    table = Table.of(items, type(items[0]))
    require(in_worker_process(_answers_from_table, make(), table.arrow, items[0].payload.kind, workplace) == answers,
            f"{who} gives other answers in another process")  # fmt: skip
    return answers


def _answers(baseline: Baseline, items: Sequence[Item[Any]], workplace: Path) -> BaselineAnswers:
    baseline.open(workplace)
    return [baseline.answer(item) for item in items]


def _answers_from_table(baseline: Baseline, arrow: Any, payload: str, workplace: Path) -> BaselineAnswers:
    """The answers in a worker process: rows with a payload cannot be pickled, but their table can."""
    from benchbuilder.core import row_class

    rows: Any = list(Table(arrow, row_class(f"item[{payload}]")))
    return _answers(baseline, rows, workplace)
