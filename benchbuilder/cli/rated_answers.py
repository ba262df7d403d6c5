"""Update the answers and ratings that judges learn from, without asking any model."""

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
    """Items, their answers and scores; `journal` is the folder of the evaluation's journal."""

    items: list[Item[Any]]
    answers: list[Answer]
    scores: list[Score]
    journal: Path


def completed_tables(evaluation: Evaluation) -> RatedTables:
    """The finished steps of an evaluation as tables."""
    items, answers, scores = (
        [row for table in evaluation_tables(evaluation, role).values() for row in table]
        for role in ("item", "answer", "score")
    )
    return RatedTables(items, answers, scores, evaluation.store.journal)


def rated_tables(loaded: LoadedRecipe, overrides: Sequence[str], console: Console) -> RatedTables:
    """The existing answers and their ratings by the scorer that judges learn from.

    No model is asked, and the written results of the evaluation stay unchanged.

    Raises:
        Waiting: If there are no ratings yet.
    """
    evaluation = plan_evaluation(loaded, Path.cwd(), with_model=chooses_model(overrides), rated_only=True)
    with progress_watcher(console) as watcher:
        report = build_benchmark(evaluation.plan, evaluation.store, loaded.yaml, watcher, write_outputs=False)
    for waiting in report.waiting.values():
        raise waiting
    return completed_tables(evaluation)
