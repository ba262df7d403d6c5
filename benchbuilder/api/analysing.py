"""Analyses the answers of models: what they say about the items, and about the models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.api.opened_recipe import benchmark_overrides, recipes_of_tasks, words_of
from benchbuilder.config import trusting
from benchbuilder.evaluation import analyse_evaluation, analysis_data, write_analysis


@dataclass(frozen=True)
class AnalysisReport:
    """What an analysis of one task found.

    Attributes:
        task: The task; empty in a recipe without tasks.
        folder: The folder of its files.
        data: What stands in ``analysis.json``: each section by name.
        notes: What the figures rest on, and what was left out.
        files: The files that were written.
    """

    task: str
    folder: Path
    data: Mapping[str, Any]
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def analyse(
    recipe: str, overrides: Sequence[str] = (), *, task: str | None = None, benchmark: str | Path | None = None,
    expected: str | None = None, recipes: Sequence[str] | None = None, trust: Sequence[str] = (),
) -> tuple[AnalysisReport, ...]:  # fmt: skip
    """Analyse the answers of an evaluation, as ``benchbuild analyse`` does; write its files. Nobody is asked.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line.
        task: The one task to analyse; by default all that have an evaluation.
        benchmark: The file of a benchmark from elsewhere that was evaluated.
        expected: The right verdict of its questions, if it has no column of that name.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Returns:
        A report for each task.

    Raises:
        RecipeError: The recipe has no evaluation, or a setting is wrong.
        DataError: There are no scored answers yet.
    """
    path = None if benchmark is None else str(benchmark)
    with trusting(trust):
        words = [*words_of(recipe, overrides), *benchmark_overrides(path, expected, task)]
        reports = list[AnalysisReport]()
        parts = recipes_of_tasks(words, recipes, task)
        for part in parts:
            if part.recipe.evaluation is not None or len(parts) == 1:
                analysis = analyse_evaluation(part, Path.cwd())
                files, data = tuple(write_analysis(analysis)), analysis_data(analysis)
                reports.append(AnalysisReport(analysis.task, analysis.folder, data, tuple(data["notes"]), files))
    return tuple(reports)
