"""``benchbuild check``: say whether a recipe can run, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console

from benchbuilder.authoring import UnadaptedText
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import find_roots, load_recipe
from benchbuilder.core import DataError, Problem, RecipeError
from benchbuilder.pipeline import check_recipe, require_libraries


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print warnings, for a copied recipe also its unadapted text; raise for errors."""
    name = next((item.partition("=")[2] for item in args.overrides if item.startswith("recipe=")), "")
    try:
        loaded = load_recipe(args.overrides, recipes=args.recipes)
        unadapted = UnadaptedText(name, loaded.roots)
        warnings = check_recipe(loaded)
        require_libraries(loaded)
    except (RecipeError, DataError):
        _warn(UnadaptedText(name, find_roots(args.recipes or ())).problems_in_files(), console)
        raise
    _warn((*warnings, *unadapted.problems_in_files(), *unadapted.problems_with(loaded)), console)
    recipe = loaded.recipe
    summary = f"{len(recipe.sources)} sources, {len(recipe.steps)} steps and {len(loaded.files)} files are fine"
    print_line(console, f"{recipe.name}: {summary}")
    return 0


def _warn(warnings: Iterable[Problem], console: Console) -> None:
    for warning in warnings:
        print_line(console, f"warning: {warning}")
