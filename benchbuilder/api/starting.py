"""Makes new recipes: copies of one, or a first one of a language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.authoring import CloneRequest, clone_recipe, start_recipe
from benchbuilder.config import trusting
from benchbuilder.core import Problem, RecipeError


@dataclass(frozen=True)
class NewRecipe:
    """A new recipe: its name, the files that were written, and warnings about them."""

    name: str
    files: tuple[Path, ...]
    warnings: tuple[Problem, ...]


def new(
    name: str, origin: str = "", *, language: str | None = None, sources: Sequence[str] = (),
    also: Sequence[str] = (), recipes: Sequence[str] | None = None, trust: Sequence[str] = (),
) -> NewRecipe:  # fmt: skip
    """Write a new recipe below the current folder, as ``benchbuild new`` does.

    Args:
        name: The name of the new recipe.
        origin: The recipe to copy; without it, the recipe is a first one of `language`.
        language: The language of the new recipe, if it differs.
        sources: ``NAME:KIND`` or ``NAME:KIND=FILE`` of sources that replace those of the copied recipe.
        also: Further options to copy, as ``GROUP/OPTION``.
        recipes: Further folders of recipes, searched first.
        trust: Folders whose recipes are trusted for this call.

    Raises:
        RecipeError: The request is wrong, or a file is there already; nothing is written then.
    """
    if not origin and language is None:
        raise RecipeError([Problem("a recipe to copy or a language is needed", where="new",
                                   hint=f"for instance new({name!r}, 'care_mi')")])  # fmt: skip
    request = CloneRequest(name, origin, language, tuple(sources), tuple(also))
    with trusting(trust):
        clone = clone_recipe(request, recipes) if origin else start_recipe(request, recipes)
        return NewRecipe(name, tuple(clone.write(Path.cwd())), clone.warnings)
