"""Checks the files that settings of an evaluation name, as far as they can be read before it runs."""

from __future__ import annotations

from benchbuilder.config import EvaluationSpec, LoadedRecipe
from benchbuilder.evaluation.judges.asking import ChatJudgeSpec, read_rubric
from benchbuilder.evaluation.parsing.verdicts import verdict_reader
from benchbuilder.evaluation.scorers.verdict import VerdictSpec


def check_setting_files(loaded: LoadedRecipe) -> None:
    """Read the rubrics of judges and the verdict tables of scorers, of every task.

    Raises:
        RecipeError: A rubric does not define what its judge scores.
        DataError: A verdict table is invalid, or misreads its own examples.
    """
    recipe = loaded.recipe
    tasks = (recipe.evaluation, *(task.evaluation for task in recipe.tasks.values()))
    for spec in tasks:
        if spec is not None:
            _check_task(spec)


def _check_task(spec: EvaluationSpec) -> None:
    for judge in spec.judges.values():
        if isinstance(judge, ChatJudgeSpec) and judge.rubric is not None:
            read_rubric(judge.rubric, judge.aspect)
    for scorer in spec.scorers.values():
        if isinstance(scorer, VerdictSpec):
            verdict_reader([table.file for table in scorer.tables])
