"""Audits a benchmark: can its answers be guessed by somebody who knows nothing?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchbuilder.api.opened_recipe import benchmark_overrides, recipes_of_tasks, words_of
from benchbuilder.config import LoadedRecipe, trusting
from benchbuilder.core import Problem, RecipeError
from benchbuilder.evaluation import audit_of_file, audits_of_build, check_texts, write_audit
from benchbuilder.exporters import AuditResult


@dataclass(frozen=True)
class AuditReport:
    """What an audit of one task found.

    Attributes:
        task: The task; empty in a recipe without tasks.
        folder: The folder of its files.
        result: The finding of each check.
        notes: What was left out, and what else was found.
        contradictions: The number of pairs of items that contradict each other.
        files: The files that were written.
        closed: Whether the gate is closed, because of a leak or a contradiction.
        warning: One of the notes, that nobody may miss; empty if there is none.
    """

    task: str
    folder: Path
    result: AuditResult
    notes: tuple[str, ...]
    contradictions: int
    files: tuple[Path, ...]
    closed: bool
    warning: str = ""


def audit(
    recipe: str, overrides: Sequence[str] = (), *, task: str | None = None, benchmark: str | Path | None = None,
    expected: str | None = None, against: Sequence[str | Path] = (), recipes: Sequence[str] | None = None,
    trust: Sequence[str] = (),
) -> tuple[AuditReport, ...]:  # fmt: skip
    """Audit a built benchmark or one from elsewhere, as ``benchbuild audit`` does; write its files.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line.
        task: The one task to audit; by default all.
        benchmark: A file of a benchmark from elsewhere.
        expected: The right verdict of its questions, if it has no column of that name.
        against: Files or folders of documents in which the items are looked for.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Returns:
        A report for each task. A closed gate is no error here: look at `closed`.

    Raises:
        RecipeError: A setting is wrong, or there is an expected verdict and no benchmark.
        DataError: The benchmark is not built yet, or was built with other settings.
    """
    words = words_of(recipe, overrides)
    if benchmark is None:
        benchmark_overrides(None, expected, task)  # refuses a verdict without a benchmark
    with trusting(trust):
        parts = recipes_of_tasks(words, recipes, task)
        path = None if benchmark is None else str(benchmark)
        return tuple(audits_of(parts, path, expected, [str(text) for text in against]))


def audits_of(
    parts: Sequence[LoadedRecipe], benchmark: str | None, expected: str | None, against: Sequence[str]
) -> Iterator[AuditReport]:
    """Audit the recipe of each task, or a benchmark from elsewhere; write the files of each before the next.

    Raises:
        RecipeError: A benchmark from elsewhere is given, and there are several tasks.
        DataError: The benchmark is not built yet, or was built with other settings.
    """
    if benchmark is not None and len(parts) > 1:
        names = ", ".join(part.task for part in parts)
        raise RecipeError([Problem("a benchmark from elsewhere is of one task", allowed=names, hint="name the task")])
    found = (
        audits_of_build(list(parts), Path.cwd())
        if benchmark is None
        else [audit_of_file(parts[0], benchmark, expected, Path.cwd())]
    )
    for one in found:
        texts = check_texts(one, against, Path.cwd())
        notes = (*one.notes, *texts.sentences())
        files = (*write_audit(replace(one, notes=notes)), *texts.files)
        closed = one.result.closed or bool(texts.contradictions)
        yield AuditReport(
            one.loaded.task, one.folder, one.result, notes, texts.contradictions, files, closed, one.warning
        )
