"""Builds a benchmark and says what became of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchbuilder.api.opened_recipe import OpenedRecipe, open_recipe, words_of
from benchbuilder.api.run_result import RunResult
from benchbuilder.api.watching import Progress, watcher_of
from benchbuilder.config import Recipe, trusting
from benchbuilder.core import GateClosed, Problem
from benchbuilder.evaluation import BuildAuditor
from benchbuilder.exporters import AuditResult
from benchbuilder.pipeline import Watcher, build_benchmark, workers_of


@dataclass(frozen=True)
class BuildResult(RunResult):
    """What a build made; `open` reads its `folder`.

    Attributes:
        recipe: The resolved recipe.
        warnings: What the check of the recipe warns of.
    """

    recipe: Recipe
    warnings: tuple[Problem, ...]

    @property
    def items(self) -> Mapping[str, int]:
        """The number of items of each task that has them; the task is empty in a recipe without tasks."""
        parts = self.recipe.by_task()
        found = self.report.manifests
        return {task: found[part.items].rows for task, part in parts.items() if part.items in found}

    @property
    def audits(self) -> Mapping[str, AuditResult]:
        """The result of the audit of each task."""
        return self.report.audits

    def require_open_gate(self) -> None:
        """Raise GateClosed if the recipe wants its audits clean (``audit.gate: build``) and one is not."""
        closed = [task or "the benchmark" for task, audit in self.audits.items() if audit.closed]
        if closed and self.recipe.audit.gate == "build" and not self.waiting:
            raise GateClosed(
                f"the audit closes the gate of {', '.join(closed)}",
                where="audit.gate: build",
                next="benchbuild audit with the same arguments says what leaks; audit.allow allows it with a reason",
            )


def build(
    recipe: str, overrides: Sequence[str] = (), *, recipes: Sequence[str] | None = None, trust: Sequence[str] = (),
    refresh: Collection[str] = (), verify: bool = False, progress: Progress = None,
) -> BuildResult:  # fmt: skip
    """Build a benchmark, as ``benchbuild recipe=NAME`` does.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line, for instance ``["retriever.top_k=2"]``.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.
        refresh: Steps to run again although they are finished.
        verify: Whether to read all files again, even if size, times and inode are unchanged.
        progress: A function that gets each event, or whether to show progress; by default in notebooks only.

    Raises:
        RecipeError: With every problem of the recipe at once.
        InstallationError: A library that the recipe needs is missing.
        DataError: A file cannot be used.
        StoreError: Another build holds the folder, or it has files of somebody else.
        ServiceError: A model cannot be reached, or the budget is used up.
        TooManyFailures: More rows failed than the recipe tolerates.
        GateClosed: The recipe wants its audit clean, and it is not; everything was written.
    """
    words = words_of(recipe, overrides)
    with trusting(trust):
        opened = open_recipe(words, recipes, verify=verify)
        result = build_opened(opened, words, watcher_of(progress), frozenset(refresh))
    result.require_open_gate()
    return result


def build_opened(
    opened: OpenedRecipe, overrides: Sequence[str], watcher: Watcher, refresh: frozenset[str] = frozenset()
) -> BuildResult:
    """Build an opened recipe and audit it; the caller looks at the gate."""
    report = build_benchmark(
        opened.plan, opened.store, opened.loaded.yaml, watcher, refresh=refresh, overrides=overrides,
        auditor=build_auditor(opened.plan.recipe),
    )  # fmt: skip
    return BuildResult(report, opened.plan.recipe, opened.warnings)


def build_auditor(recipe: Recipe) -> BuildAuditor | None:
    """What audits the builds of a recipe; None if its gate is ``none``."""
    return None if recipe.audit.gate == "none" else BuildAuditor(recipe.audit, recipe.seed, workers_of(recipe.run))
