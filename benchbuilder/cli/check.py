"""``benchbuild check``: whether a recipe can run, without running it."""

from __future__ import annotations

import argparse

from rich.console import Console

from benchbuilder.checking import check, require_libraries
from benchbuilder.loading import load_recipe


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print what is worth a look; raise for what is wrong."""
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    warnings = check(loaded)
    require_libraries(loaded)
    for warning in warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    recipe = loaded.recipe
    told = f"{len(recipe.sources)} sources, {len(recipe.steps)} steps and {len(loaded.files)} files are fine"
    console.print(f"{recipe.name}: {told}", highlight=False)
    return 0
