"""``benchbuild new``: a recipe of one's own from another one, or the skeleton of a plugin."""

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
from benchbuilder.config import display_path
from benchbuilder.core import Problem, RecipeError


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the recipe to make")
    parser.add_argument("--from", dest="origin", metavar="RECIPE", help="the recipe to copy")
    parser.add_argument("--language", metavar="TAG", help="the language of the new recipe, if it is another one")
    parser.add_argument(
        "--source", action="append", default=[], metavar="NAME:KIND",
        help="leave out the sources of RECIPE and write a form for this one; may be given more than once",
    )  # fmt: skip
    parser.add_argument(
        "--also", action="append", default=[], metavar="GROUP/OPTION",
        help="copy this option too, for instance annotation/app; may be given more than once",
    )  # fmt: skip
    parser.add_argument("--plugin", metavar="NAME", help="write the skeleton of a plugin instead")
    parser.add_argument("--kind", metavar="SLOT,...", help=f"what the plugin brings: {', '.join(SKELETON_SLOTS)}")


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the files and say what to do with them."""
    if args.plugin is not None:
        _write_plugin(args, console)
        return 0
    if args.name is None or args.origin is None:
        hint = "for instance `benchbuild new my_field --from care_mi`, or `benchbuild new --plugin my_plugin`"
        raise RecipeError([Problem("a name and a recipe to copy are wanted", where="new", hint=hint)])
    if args.kind is not None:
        raise RecipeError([Problem("only a plugin has kinds", where=f"--kind {args.kind}", hint="give --plugin NAME")])
    wish = CloneRequest(args.name, args.origin, args.language, tuple(args.source), tuple(args.also))
    made = clone_recipe(wish, args.recipes)
    made.write(Path.cwd())
    _print_clone(made, wish, console)
    for warning in made.warnings:
        console.print(f"warning: {warning}", highlight=False, markup=False, soft_wrap=True)
    return 0


def _print_clone(clone: Clone, request: CloneRequest, console: Console) -> None:
    recipe = f"recipes/recipe/{request.name}.yaml"
    lines = [f"{request.name}: {len(clone.files)} files, copied from {request.origin}"]
    lines += [f"  {place}" for place in clone.files]
    lines += [
        "next:",
        f"  1. open {recipe}: what holds ??? is yours to say, above all the sources and the card",
        f"  2. benchbuild check recipe={request.name}   says what is open, and what is left over of {request.origin}",
        f"  3. benchbuild preview n=3 recipe={request.name}",
    ]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _write_plugin(args: argparse.Namespace, console: Console) -> None:
    if args.name is not None or args.origin is not None:
        hint = "give --plugin NAME alone, or NAME --from RECIPE"
        raise RecipeError([Problem("a plugin is no copy of a recipe", where=f"--plugin {args.plugin}", hint=hint)])
    wanted = tuple(part.strip() for part in (args.kind or "source").split(",") if part.strip())
    folder = Path.cwd() / distribution_name(args.plugin)
    written = write_plugin_skeleton(plugin_skeleton_files(args.plugin, wanted), folder)
    lines = [f"{display_path(folder)}: {len(written)} files"]
    lines += [f"  {display_path(path)}" for path in written]
    lines += ["next:", f"  pip install -e '{display_path(folder)}[dev]' && pytest {display_path(folder)}",
              "  benchbuild ls --kinds   lists its kinds then, and recipes can name them"]  # fmt: skip
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)
