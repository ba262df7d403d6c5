"""Checks the files that settings of an evaluation name, as far as they can be read before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from benchbuilder.config import EvaluationSpec, LoadedRecipe, display_path
from benchbuilder.core import Problem
from benchbuilder.evaluation.judges.asking import ChatJudgeSpec, read_rubric
from benchbuilder.evaluation.parsing.verdict_tables import lacks_verdicts
from benchbuilder.evaluation.parsing.verdicts import verdict_reader
from benchbuilder.evaluation.scorers.verdict import VerdictSpec


def check_setting_files(loaded: LoadedRecipe) -> list[Problem]:
    """Read the rubrics of judges and the verdict tables of scorers, of every task.

    Returns:
        What an evaluation still lacks, and a build does not: the words of a verdict table that nobody has filled in.

    Raises:
        RecipeError: A rubric does not define what its judge scores.
        DataError: A verdict table is invalid, or misreads its own examples.
    """
    recipe = loaded.recipe
    tasks = (recipe.evaluation, *(task.evaluation for task in recipe.tasks.values()))
    return [problem for spec in tasks if spec is not None for problem in _check_task(spec)]


def _check_task(spec: EvaluationSpec) -> Iterator[Problem]:
    for judge in spec.judges.values():
        if isinstance(judge, ChatJudgeSpec) and judge.rubric is not None:
            read_rubric(judge.rubric, judge.aspect)
    for scorer in spec.scorers.values():
        if isinstance(scorer, VerdictSpec):
            files = [table.file for table in scorer.tables]
            if open_files := [file for file in files if lacks_verdicts(file)]:
                hint = "write how answers in this language say yes and no, before models are evaluated"
                yield from (
                    Problem("no word for yes or for no", where=display_path(file), hint=hint) for file in open_files
                )
            else:
                verdict_reader(files)
