"""Checks a recipe without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchbuilder.api.opened_recipe import words_of
from benchbuilder.authoring import UnadaptedText
from benchbuilder.config import left_out_lines, load_recipe, trusting
from benchbuilder.core import Problem
from benchbuilder.evaluation import check_setting_files
from benchbuilder.explorer import JudgedSet, check_judged
from benchbuilder.pipeline import check_recipe, expected_graph_lines, relation_lines, require_libraries, understood_rows
from benchbuilder.publishing import open_before_release


@dataclass(frozen=True)
class CheckedRecipe:
    """A recipe that can run.

    Attributes:
        name: Its name.
        sources: The number of its sources.
        steps: The number of its steps.
        files: The number of files that it reads.
        warnings: What may be wrong with it; for a copied recipe also text that is still about the original.
        judged: The rows that people judged beside its rules, with what becomes of each, by step.
        rows: Lines that show three rows of each source as they were understood, and what relations of triples look like
            that the recipe does not list, what a build would make of some triples, and which settings do nothing.
        open_before_release: What its settings lack for a release.
    """

    name: str
    sources: int
    steps: int
    files: int
    warnings: tuple[Problem, ...]
    judged: tuple[JudgedSet, ...] = ()
    rows: tuple[str, ...] = ()
    open_before_release: tuple[str, ...] = ()


def check(
    recipe: str, overrides: Sequence[str] = (), *, recipes: Sequence[str] | None = None, trust: Sequence[str] = ()
) -> CheckedRecipe:
    """Validate a recipe, as ``benchbuild check recipe=NAME`` does.

    Args:
        recipe: The name of the recipe.
        overrides: Overrides as on the command line.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: With every problem of the recipe at once, in `problems`.
        DataError: A file that the recipe names cannot be read.
        InstallationError: A library that the recipe needs is missing.
    """
    with trusting(trust):
        return check_overrides(words_of(recipe, overrides), recipes)


def check_overrides(overrides: Sequence[str], recipes: Sequence[str] | None) -> CheckedRecipe:
    """Validate the recipe that the words of a command line choose."""
    loaded = load_recipe(overrides, recipes=recipes)
    name = next((item.partition("=")[2] for item in overrides if item.startswith("recipe=")), "")
    unadapted = UnadaptedText(name, loaded.roots)
    warnings = [*check_recipe(loaded, look=True), *check_setting_files(loaded)]
    require_libraries(loaded)
    warnings += [*unadapted.problems_in_files(), *unadapted.problems_with(loaded)]
    judged = check_judged(loaded)
    warnings += [problem for each in judged for problem in each.problems()]
    found = loaded.recipe
    return CheckedRecipe(
        found.name, len(found.sources), len(found.steps), len(loaded.files), tuple(warnings), tuple(judged),
        (
            *understood_rows(loaded), *relation_lines(loaded), *expected_graph_lines(loaded),
            *left_out_lines(found, loaded.origins),
        ),
        open_before_release(loaded),
    )  # fmt: skip
