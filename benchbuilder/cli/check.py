"""``benchbuild check``: whether a recipe can run, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console

from benchbuilder.authoring import UnadaptedText
from benchbuilder.config import find_roots, load_recipe
from benchbuilder.core import DataError, Problem, RecipeError
from benchbuilder.pipeline import check_recipe, require_libraries


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print what is worth a look, of a copied recipe also what is left over; raise for what is wrong."""
    name = next((word.partition("=")[2] for word in args.overrides if word.startswith("recipe=")), "")
    try:
        loaded = load_recipe(args.overrides, recipes=args.recipes)
        leftovers = UnadaptedText(name, loaded.roots)
        warnings = check_recipe(loaded)
        require_libraries(loaded)
    except (RecipeError, DataError):
        _warn(UnadaptedText(name, find_roots(args.recipes or ())).problems_in_files(), console)
        raise
    _warn((*warnings, *leftovers.problems_in_files(), *leftovers.problems_with(loaded)), console)
    recipe = loaded.recipe
    told = f"{len(recipe.sources)} sources, {len(recipe.steps)} steps and {len(loaded.files)} files are fine"
    console.print(f"{recipe.name}: {told}", highlight=False)
    return 0


def _warn(warnings: Iterable[Problem], console: Console) -> None:
    for warning in warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
