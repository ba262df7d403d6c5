"""``benchbuild show``: print the resolved recipe with the origin of every value."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from benchbuilder.config import annotate_with_origins, load_recipe, render_recipe


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")
    parser.add_argument("--plain", action="store_true", help="leave out the origins, as in the recipe.yaml of a build")


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print YAML that can be loaded again; only the recipe itself is checked."""
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    text = (
        loaded.yaml
        if args.plain
        else annotate_with_origins(render_recipe(loaded.recipe, runtime_options=True), loaded.origins)
    )
    sys.stdout.write(text)
    return 0
