"""Asks models the questions of a benchmark and scores their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchbuilder.api.opened_build import RowTable
from benchbuilder.api.opened_recipe import benchmark_overrides, recipes_of_tasks, words_of
from benchbuilder.api.run_result import RunResult
from benchbuilder.api.watching import Progress, watcher_of
from benchbuilder.config import trusting
from benchbuilder.evaluation import (
    ClaimResults,
    Evaluation,
    PressureResults,
    Scoreboard,
    chooses_model,
    evaluation_claims,
    evaluation_pressure,
    evaluation_scoreboard,
    evaluation_tables,
    plan_evaluation,
    write_task_results,
)
from benchbuilder.pipeline import Watcher, build_benchmark


@dataclass(frozen=True)
class EvaluationResult(RunResult):
    """What an evaluation of one task made.

    Attributes:
        evaluation: Its plan.
    """

    evaluation: Evaluation

    @property
    def task(self) -> str:
        """The task; empty in a recipe without tasks."""
        return self.evaluation.task

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and why."""
        return (*self.evaluation.notes, *self.report.notes)

    @cached_property
    def scoreboard(self) -> Scoreboard | None:
        """Each system with its means, the facts that it knows and the answers that it lacks; None without scores."""
        return evaluation_scoreboard(self.evaluation)

    @cached_property
    def claims(self) -> ClaimResults | None:
        """What the claims of answers come to, by system; None unless ``evaluation.answer_claims`` reads them."""
        return evaluation_claims(self.evaluation)

    @cached_property
    def pressure(self) -> PressureResults | None:
        """What claims before the questions did to the answers; None if ``evaluation.pressure`` asks for none."""
        return evaluation_pressure(self.evaluation)

    @property
    def answers(self) -> Mapping[str, RowTable]:
        """The answers, by the step that asked for them."""
        return {name: RowTable(rows) for name, rows in evaluation_tables(self.evaluation, "answer").items()}

    @property
    def scores(self) -> Mapping[str, RowTable]:
        """The scores of the answers, by the step that gave them."""
        return {name: RowTable(rows) for name, rows in evaluation_tables(self.evaluation, "score").items()}


def evaluate(
    recipe: str, overrides: Sequence[str] = (), *, task: str | None = None, benchmark: str | Path | None = None,
    expected: str | None = None, recipes: Sequence[str] | None = None, trust: Sequence[str] = (),
    refresh: Collection[str] = (), progress: Progress = None,
) -> tuple[EvaluationResult, ...]:  # fmt: skip
    """Evaluate models on a benchmark, as ``benchbuild evaluate`` does.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line; ``model=...`` names a model that answers too.
        task: The one task to evaluate; by default all that have an evaluation.
        benchmark: A file of a benchmark from elsewhere.
        expected: The right verdict of its questions, if it has no column of that name.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.
        refresh: Steps to run again although they are finished.
        progress: A function that gets each event, or whether to show progress; by default in notebooks only.

    Returns:
        A result for each task.

    Raises:
        RecipeError: The recipe has no evaluation, or a setting does not fit a model.
        DataError: The benchmark is not built yet, or was built with other settings.
        ServiceError: A model cannot be reached, or the budget is used up.
        TooManyFailures: More rows failed than the recipe tolerates.
    """
    words = words_of(recipe, overrides)
    path = None if benchmark is None else str(benchmark)
    with trusting(trust):
        parts = recipes_of_tasks([*words, *benchmark_overrides(path, expected, task)], recipes, task)
        results = list[EvaluationResult]()
        for part in parts:
            if part.recipe.evaluation is not None or len(parts) == 1:
                planned = plan_evaluation(part, Path.cwd(), with_model=chooses_model(part.overrides))
                results.append(run_evaluation(planned, part.yaml, watcher_of(progress), frozenset(refresh)))
        write_task_results(parts[0], Path.cwd())
    return tuple(results)


def run_evaluation(
    evaluation: Evaluation, recipe_yaml: str, watcher: Watcher, refresh: frozenset[str] = frozenset()
) -> EvaluationResult:
    """Run a planned evaluation."""
    report = build_benchmark(
        evaluation.plan, evaluation.store, recipe_yaml, watcher, refresh=refresh, keep_outputs=True
    )
    return EvaluationResult(report, evaluation)
