"""Opens the recipe that overrides choose: loaded and checked, with its plan and its store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import Problem, RecipeError
from benchbuilder.pipeline import Checksums, Plan, Store, check_build_folder, check_recipe, make_plan, unread_sources


@dataclass(frozen=True)
class OpenedRecipe:
    """A loaded and checked recipe with its plan, its store and the warnings about it."""

    loaded: LoadedRecipe
    plan: Plan
    store: Store
    warnings: tuple[Problem, ...]


def words_of(recipe: str, overrides: Sequence[str]) -> list[str]:
    """The words of a command line that mean `recipe` with `overrides`.

    >>> words_of("care_mi", ["retriever.top_k=2"])
    ['recipe=care_mi', 'retriever.top_k=2']

    Raises:
        RecipeError: `overrides` is one text.
    """
    if isinstance(overrides, str):
        raise RecipeError([Problem("overrides are a list", actual=repr(overrides), hint=f"write [{overrides!r}]")])
    return [f"recipe={recipe}", *overrides]


def open_recipe(overrides: Sequence[str], recipes: Sequence[str] | None, *, verify: bool = False) -> OpenedRecipe:
    """Compose, validate, check and plan the recipe.

    Args:
        overrides: ``recipe=NAME`` and further overrides.
        recipes: Further folders of recipes.
        verify: Whether to read all files again, even if size, times and inode are unchanged.

    Raises:
        RecipeError: With every problem of the recipe at once.
        DataError: If a file that the recipe names cannot be read.
        StoreError: If the folder of the build has files of somebody else where a build writes.
    """
    loaded = load_recipe(overrides, recipes=recipes)
    store = Store(loaded.recipe.build_folder(Path.cwd()))
    checksums = Checksums(store.checksums, verify=verify)
    warnings = check_recipe(loaded, sources=unread_sources(loaded.recipe, store, checksums))
    plan = make_plan(loaded.recipe, store, checksums.sha256_of)
    check_build_folder(plan, store)
    checksums.save()
    return OpenedRecipe(loaded, plan, store, tuple(warnings))


def benchmark_overrides(benchmark: str | None, expected: str | None, task: str | None) -> list[str]:
    """The overrides that mean a benchmark from elsewhere.

    Args:
        benchmark: The file of the benchmark; ``None`` means that of the recipe.
        expected: The right verdict of all its questions, ``yes`` or ``no``.
        task: The task that it belongs to.

    Raises:
        RecipeError: There is an expected verdict and no benchmark.
    """
    if benchmark:
        key = f"tasks.{task}.evaluation.benchmark" if task else "evaluation.benchmark"
        quoted_path = benchmark.replace("\\", "\\\\").replace("'", "\\'")
        overrides = [f"{key}.kind=benchmark", f"{key}.path='{quoted_path}'"]
        return overrides + ([f"{key}.expected='{expected}'"] if expected else [])
    if expected:
        raise RecipeError([Problem("--expected needs a benchmark from elsewhere", hint="--benchmark FILE",
                                   where=f"command line: --expected {expected}")])  # fmt: skip
    return []


def recipes_of_tasks(
    overrides: Sequence[str], recipes: Sequence[str] | None, task: str | None = None
) -> list[LoadedRecipe]:
    """The recipe of each task, or only that of `task`."""
    loaded = load_recipe(overrides, recipes=recipes)
    return [loaded.for_task(task)] if task else loaded.by_task()
