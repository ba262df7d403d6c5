"""``benchbuild new``: copy a recipe, or write the skeleton of a plugin."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import (
    SKELETON_SLOTS,
    Clone,
    CloneRequest,
    clone_recipe,
    distribution_name,
    plugin_skeleton_files,
    write_plugin_skeleton,
)
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import Problem, RecipeError


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the recipe to make")
    parser.add_argument("--from", dest="origin", metavar="RECIPE", help="the recipe to copy")
    parser.add_argument("--language", metavar="TAG", help="the language of the new recipe, if it differs")
    parser.add_argument(
        "--source", action="append", default=[], metavar="NAME:KIND",
        help="leave out the sources of RECIPE and write a form for this one (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--also", action="append", default=[], metavar="GROUP/OPTION",
        help="copy this option too, for instance annotation/app (repeatable)",
    )  # fmt: skip
    parser.add_argument("--plugin", metavar="NAME", help="write the skeleton of a plugin instead")
    parser.add_argument(
        "--kind", metavar="SLOT,...", help=f"the slots that the plugin fills: {', '.join(SKELETON_SLOTS)}"
    )


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the files and print what to do with them."""
    if args.plugin is not None:
        _write_plugin(args, console)
        return 0
    if args.name is None or args.origin is None:
        hint = "for instance `benchbuild new my_field --from care_mi`, or `benchbuild new --plugin my_plugin`"
        raise RecipeError([Problem("a name and a recipe to copy are needed", where="new", hint=hint)])
    if args.kind is not None:
        raise RecipeError([Problem("--kind is for plugins", where=f"--kind {args.kind}", hint="give --plugin NAME")])
    request = CloneRequest(args.name, args.origin, args.language, tuple(args.source), tuple(args.also))
    clone = clone_recipe(request, args.recipes)
    clone.write(Path.cwd())
    _print_clone(clone, request, console)
    for warning in clone.warnings:
        print_line(console, f"warning: {warning}")
    return 0


def _print_clone(clone: Clone, request: CloneRequest, console: Console) -> None:
    recipe = f"recipes/recipe/{request.name}.yaml"
    lines = [f"{request.name}: {len(clone.files)} files, copied from {request.origin}"]
    lines += [f"  {path}" for path in clone.files]
    lines += [
        "next:",
        f"  1. open {recipe}: replace every ???, above all in the sources and the card",
        f"  2. benchbuild check recipe={request.name}   lists what is missing or still about {request.origin}",
        f"  3. benchbuild preview n=3 recipe={request.name}",
    ]
    print_line(console, "\n".join(lines))


def _write_plugin(args: argparse.Namespace, console: Console) -> None:
    if args.name is not None or args.origin is not None:
        hint = "give --plugin NAME alone, or NAME --from RECIPE"
        raise RecipeError([Problem("a plugin is not a copy of a recipe", where=f"--plugin {args.plugin}", hint=hint)])
    wanted = tuple(part.strip() for part in (args.kind or "source").split(",") if part.strip())
    folder = Path.cwd() / distribution_name(args.plugin)
    written = write_plugin_skeleton(plugin_skeleton_files(args.plugin, wanted), folder)
    lines = [f"{display_path(folder)}: {len(written)} files"]
    lines += [f"  {display_path(path)}" for path in written]
    lines += ["next:", f"  pip install -e '{display_path(folder)}[dev]' && pytest {display_path(folder)}",
              "  benchbuild ls --kinds   then lists its kinds, and recipes can name them"]  # fmt: skip
    print_line(console, "\n".join(lines))
