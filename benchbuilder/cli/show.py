"""``benchbuild show``: what a recipe sets and where, in short, by part or in full."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from benchbuilder.config import RecipeOutline, find_roots, find_text, load_recipe, render_parts, summarise_recipe
from benchbuilder.core import Problem, RecipeError


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print what was asked for; only the recipe itself is checked. Parts are YAML that can be loaded again.

    A part may end as completion leaves it: ``steps.`` or ``seed=``.
    """
    asked = [name for name, value in (("--all", args.all), ("--find", args.find), ("--plain", args.plain)) if value]
    if len(asked) > 1:
        hint = f"give {asked[0]} or {asked[1]}"
        raise RecipeError(
            [Problem("these ask for different things", where=f"command line: {' '.join(asked)}", hint=hint)]
        )
    parts = [word for word in args.overrides if "=" not in word.rstrip("=") and not word.startswith("~")]
    overrides = [word for word in args.overrides if word not in parts]
    parts = [part.rstrip(".=") for part in parts]
    if parts and (args.all or args.find is not None):
        hint = "leave out the part, or the argument that asks for the whole recipe"
        where = f"command line: {'--all' if args.all else '--find'} {parts[0]}"
        raise RecipeError([Problem("this asks for a part and for the whole recipe", where=where, hint=hint)])
    if parts and not any(word.lstrip("+").startswith("recipe=") for word in overrides):
        overrides.append(f"recipe={_recipe_with(parts, args.recipes or ())}")
    loaded = load_recipe(overrides, recipes=args.recipes)
    if args.find is not None:
        text = find_text(loaded, args.find)
    elif parts or args.all or args.plain:
        text = render_parts(loaded, parts, plain=args.plain)
    else:
        text = summarise_recipe(loaded)
    sys.stdout.write(text)
    return 0


def _recipe_with(parts: Sequence[str], folders: Sequence[str]) -> str:
    """The only recipe whose files have all of these parts; RecipeError if there is none, or a choice."""
    roots = [root.path for root in find_roots(folders)]
    names = RecipeOutline(roots, ()).options("recipe")
    found = [name for name in names if _has_all(RecipeOutline(roots, [f"recipe={name}"]).keys, parts)]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} recipes have this part" if found else "no recipe was named"
    words, allowed = " ".join(parts), f"recipe=NAME with {', '.join(found or names)}"
    hint = f"benchbuild show {words} recipe={(found or ['NAME'])[0]}"
    raise RecipeError([Problem(what, where=f"command line: {words}", allowed=allowed, hint=hint)])


def _has_all(keys: Any, parts: Sequence[str]) -> bool:
    """Whether a tree of keys has a value at each of these dotted keys."""
    for part in parts:
        node = keys
        for name in part.split("."):
            node = node.get(name) if isinstance(node, dict) else None
        if node is None:
            return False
    return True
