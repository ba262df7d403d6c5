"""What judges learn from: the answers and ratings of an evaluation, brought up to date without asking any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchbuilder.cli.session import progress_watcher
from benchbuilder.config import LoadedRecipe
from benchbuilder.core import Answer, Item, Score
from benchbuilder.evaluation import Evaluation, chooses_model, evaluation_tables, plan_evaluation
from benchbuilder.pipeline import build_benchmark


@dataclass(frozen=True)
class RatedTables:
    """Items, answers to them, and what these scored; `journal` is that of the evaluation."""

    items: list[Item[Any]]
    answers: list[Answer]
    scores: list[Score]
    journal: Path


def completed_tables(evaluation: Evaluation) -> RatedTables:
    """What is sealed of an evaluation."""
    item, answer, score = (
        [row for table in evaluation_tables(evaluation, role).values() for row in table]
        for role in ("item", "answer", "score")
    )
    return RatedTables(item, answer, score, evaluation.store.journal)


def rated_tables(loaded: LoadedRecipe, overrides: Sequence[str], console: Console) -> RatedTables:
    """The answers that are there and the ratings of the scorer that judges learn from; Waiting if there are none yet.

    No model is asked, and the results that an evaluation wrote stay as they are.
    """
    evaluation = plan_evaluation(loaded, Path.cwd(), with_model=chooses_model(overrides), rated_only=True)
    with progress_watcher(console) as watcher:
        report = build_benchmark(evaluation.plan, evaluation.store, loaded.yaml, watcher, write_outputs=False)
    for waiting in report.waiting.values():
        raise waiting
    return completed_tables(evaluation)
