"""Checks the files that settings of an evaluation name, as far as they can be read before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from benchbuilder.config import EvaluationSpec, LoadedRecipe, display_path
from benchbuilder.core import Problem, RecipeError
from benchbuilder.evaluation.claims.by_rule import LexicalVerifierSpec
from benchbuilder.evaluation.claims.lexical import check_claim_words
from benchbuilder.evaluation.judges.asking import ChatJudgeSpec, read_rubric
from benchbuilder.evaluation.parsing.verdict_tables import lacks_verdicts
from benchbuilder.evaluation.parsing.verdicts import verdict_reader
from benchbuilder.evaluation.scorers.verdict import VerdictSpec
from benchbuilder.evaluation.steps.press import told_verdicts


def check_setting_files(loaded: LoadedRecipe) -> list[Problem]:
    """Read the rubrics of judges and the verdict tables of scorers, of every task.

    Returns:
        What an evaluation still lacks, and a build does not: the words of a verdict table that nobody has filled in.

    Raises:
        RecipeError: A rubric does not define what its judge scores, or a sentence of ``pressure`` answers questions.
        DataError: A verdict table or a word list of claims is invalid, or misreads its own examples.
    """
    recipe = loaded.recipe
    tasks = {loaded.task: recipe.evaluation, **{name: task.evaluation for name, task in recipe.tasks.items()}}
    found = [problem for spec in tasks.values() if spec is not None for problem in _check_task(spec)]
    for name, spec in tasks.items():
        if spec is not None and not found:  # words of a table that are missing are not read
            check_pressure(loaded, name, spec)
    return found


def check_pressure(loaded: LoadedRecipe, task: str, spec: EvaluationSpec) -> None:
    """RecipeError if the recipe's verdict tables read a sentence of ``pressure`` as an answer to the question."""
    problems: list[Problem] = []
    for scorer in spec.scorers.values() if spec.pressure is not None else ():
        tables = [table.file for table in scorer.tables] if isinstance(scorer, VerdictSpec) else []
        for part, what in told_verdicts(spec.pressure, verdict_reader(tables)) if tables and spec.pressure else ():
            key = f"{f'tasks.{task}.' if task else ''}evaluation.pressure.{part}"
            where = str(loaded.origins.origin_of(tuple(key.split("."))))
            hint = f"word it otherwise; what a verdict is: {', '.join(map(display_path, tables))}"
            problems.append(Problem(f"{what}; it may not answer the question", key=key, where=where, hint=hint))
    if problems:
        raise RecipeError(problems)


def _check_task(spec: EvaluationSpec) -> Iterator[Problem]:
    for judge in spec.judges.values():
        if isinstance(judge, ChatJudgeSpec) and judge.rubric is not None:
            read_rubric(judge.rubric, judge.aspect)
    if isinstance(spec.answer_claims, LexicalVerifierSpec):
        for ref in spec.answer_claims.words:
            check_claim_words(ref.file)
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
