"""From overrides to a validated recipe: find, compose, validate, explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from benchbuilder.config.compose_errors import (
    OPEN_CHOICE,
    explain_composition,
    explain_unresolved,
    override_location,
    without_echoes,
)
from benchbuilder.config.composition_cache import composed_recipe
from benchbuilder.config.composition_faults import CompositionError
from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.render import render_recipe
from benchbuilder.config.sample_data import decide_illustrative
from benchbuilder.config.search_path import RecipeRoot, find_roots, prompt_roots
from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.config.validate import validate_recipe
from benchbuilder.core import Problem, RecipeError

_NEXT = "correct these and give the same command again"


@dataclass(frozen=True)
class LoadedRecipe:
    """A validated recipe.

    `recipe` may be that of one task, `whole` is that of the whole benchmark. `files` holds every file and prompt that
    it refers to, by key. `origins` says where each value was written. `overrides` and `search_paths` are the inputs:
    the command line, and further folders of recipes.
    """

    recipe: Recipe
    whole: Recipe
    origins: ValueOrigins
    files: tuple[tuple[str, FileRef], ...]
    roots: tuple[RecipeRoot, ...]
    prompt_roots: tuple[Path, ...]
    overrides: tuple[str, ...] = ()
    search_paths: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
    """What the user may want to know of the recipe, and stops nothing."""
    task: str = ""
    """The task, if this is the recipe of one task of a benchmark."""

    @cached_property
    def yaml(self) -> str:
        """The whole resolved recipe as text, the same on every machine: paths as written, no runtime options."""
        return render_recipe(self.whole)

    def for_task(self, name: str) -> LoadedRecipe:
        """The recipe of one task alone; RecipeError if there is no such task."""
        recipe, own = self.recipe.for_task(name), f"tasks.{name}."
        files = tuple((key, ref) for key, ref in self.files if key.startswith(own) or not key.startswith("tasks."))
        return replace(self, recipe=recipe, files=files, task=name)

    def by_task(self) -> list[LoadedRecipe]:
        """The recipe of each task; itself, if it has no tasks."""
        return [self.for_task(name) for name in self.recipe.tasks] or [self]

    def file_key(self, text: str) -> str:
        """A key of the recipe as in its files: below ``tasks.NAME`` for a task."""
        return f"tasks.{self.task}.{text}" if self.task else text


def load_recipe(
    overrides: Sequence[str],
    *,
    recipes: Sequence[str] | None = None,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    drafts: Mapping[Path, str] | None = None,
) -> LoadedRecipe:
    """Find, compose and validate ``recipe=NAME key=value ...``, and explain what is wrong.

    Files that the recipe refers to are not opened: `benchbuilder.pipeline.check_recipe` does that.

    Args:
        overrides: the command line.
        recipes: further folders to search (``--recipes``).
        cwd: the current folder, unless it is the one of this process.
        environ: the environment, unless it is the one of this process.
        drafts: texts that stand for those of files, to see what saving them would give.

    Raises:
        RecipeError: all problems at once.
    """
    here = cwd or Path.cwd()
    roots = find_roots(recipes or (), cwd=here, environ=environ)
    try:
        composition = composed_recipe(overrides, roots, environ, drafts)
    except CompositionError as error:
        problems = explain_composition(error, overrides)
        hidden = _problems_behind_open_choice(problems, overrides, error.index, lambda more: load_recipe(
            more, recipes=recipes, cwd=cwd, environ=environ, drafts=drafts))  # fmt: skip
        raise RecipeError([*problems, *hidden], next=_NEXT if hidden else "") from None
    composed = composition.recipe
    unresolved = [explain_unresolved(value, composed.origins) for value in composed.unresolved]
    prompts = prompt_roots(roots)
    validated = validate_recipe(composed, unresolved, here, prompts)
    if validated.recipe is None or validated.problems:
        index = RecipeIndex(roots)
        found = [_taken_out(problem, overrides, index) for problem in without_echoes(validated.problems)]
        raise RecipeError(found, next=_NEXT)
    composition.keep()
    decided = decide_illustrative(validated.recipe, validated.files, composed.origins, roots)
    return LoadedRecipe(
        decided.recipe, decided.recipe, composed.origins, validated.files, roots, prompts,
        overrides=tuple(overrides), search_paths=tuple(recipes or ()), warnings=decided.warnings,
    )  # fmt: skip


def _taken_out(problem: Problem, overrides: Sequence[str], index: RecipeIndex) -> Problem:
    """A problem of a part that ``~PART`` took out: the command line is its place."""
    part = problem.key.partition(".")[0]
    options = index.option_names(part)
    if f"~{part}" not in overrides or not options:
        return problem
    where, hint = override_location(f"~{part}"), f"the recipe needs it: leave ~{part} out, or choose {part}=NAME"
    return replace(problem, where=f"{where} ({problem.where})", allowed=", ".join(options), hint=hint)


def _problems_behind_open_choice(
    problems: Sequence[Problem],
    overrides: Sequence[str],
    index: RecipeIndex,
    load: Callable[[Sequence[str]], LoadedRecipe],
) -> list[Problem]:
    """What else is wrong with a recipe that leaves one choice open, whichever option is chosen."""
    (first, *rest) = problems
    options = [] if rest or first.message != OPEN_CHOICE else index.option_names(first.key)
    if not options:
        return []
    try:
        load([*overrides, f"{first.key}={options[0]}"])
    except RecipeError as error:
        return list(error.problems)
    return []
