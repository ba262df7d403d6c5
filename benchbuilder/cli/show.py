"""``benchbuild show``: the resolved recipe with the origin of every value."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from benchbuilder.config import annotate_with_origins, load_recipe, render_recipe


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="recipe=NAME and any override")
    parser.add_argument("--plain", action="store_true", help="without origins, as it is written beside a benchmark")


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print YAML that can be read back; nothing is checked but the recipe itself."""
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    text = (
        loaded.yaml
        if args.plain
        else annotate_with_origins(render_recipe(loaded.recipe, runtime_options=True), loaded.origins)
    )
    sys.stdout.write(text)
    return 0
