"""``benchbuild diff A B``: show how two recipes, or two built benchmarks, differ."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import find_origin_record
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import KeyChange, LoadedRecipe, file_changes, find_roots, load_recipe, recipe_key_changes
from benchbuilder.core import Problem, RecipeError, count_phrase, head_excerpt
from benchbuilder.pipeline import BenchmarkDifferences, BuiltBenchmark, compare_builds

_LISTED = 20
_WIDTH = 60


def run(args: argparse.Namespace, console: Console) -> int:
    """Compare two builds by item, or two recipes by key."""
    if args.right is None:
        args.left, args.right = _original_recipe(args.left, args), args.left
    built = [Path(text) for text in (args.left, args.right) if (Path(text) / "recipe.yaml").is_file()]
    if len(built) == 1:
        raise RecipeError([Problem(
            "a build can be compared with a build, and a recipe with a recipe", where="command line",
            actual=f"{args.left} {args.right}", hint="name two folders of builds, or two recipes",
        )])  # fmt: skip
    if built:
        differences = compare_builds(BuiltBenchmark(built[0]), BuiltBenchmark(built[1]))
        if args.json:
            console.print_json(json.dumps([asdict(task) for task in differences], ensure_ascii=False))
            return 0
        for task in differences:
            _print_item_changes(task, console, everything=args.all)
        _print_key_changes(differences[0].recipe, console, most=None if args.all else _LISTED)
        return 0
    left, right = _load_argument(args.left, args), _load_argument(args.right, args)
    files = file_changes(_referenced_files(left), _referenced_files(right))
    keys = [files.get(key.key, key) for key in recipe_key_changes(left.yaml, right.yaml)]
    keys = [key for key in keys if key is not None]
    keys += [change for name, change in files.items() if change is not None and name not in {key.key for key in keys}]
    if args.json:
        console.print_json(json.dumps([asdict(key) for key in keys], ensure_ascii=False))
    else:
        _print_key_changes(keys, console, most=None)
    return 0


def _original_recipe(name: str, args: argparse.Namespace) -> str:
    """The recipe that `name` was copied from; RecipeError if it is not a copy."""
    record = find_origin_record(name, find_roots(args.recipes or ()))
    if record is None:
        hint = "name the other recipe"
        raise RecipeError([Problem("this recipe is not a copy", where="command line", actual=name, hint=hint)])
    return record[0].recipe


def _load_argument(text: str, args: argparse.Namespace) -> LoadedRecipe:
    """The recipe of a name, or of overrides in one string."""
    return load_recipe(shlex.split(text) if "=" in text else [f"recipe={text}"], recipes=args.recipes)


def _referenced_files(loaded: LoadedRecipe) -> dict[str, Path]:
    """The files that a recipe refers to, by key, without the data of its sources."""
    return {key: ref.file for key, ref in loaded.files if not key.startswith("sources.")}


def _print_key_changes(keys: Sequence[KeyChange], console: Console, *, most: int | None) -> None:
    say = partial(print_line, console)
    say(f"{count_phrase(len(keys), 'key')} of the recipes differ" if len(keys) != 1 else "1 key of the recipes differs")
    for key in keys[:most]:
        if key.left is None or key.right is None:
            sign, value = ("+", key.right) if key.left is None else ("-", key.left)
            say(f"  {sign} {key.key}: {head_excerpt(value or '', _WIDTH)}")
        else:
            say(f"  ~ {key.key}: {head_excerpt(key.left, _WIDTH)} -> {head_excerpt(key.right, _WIDTH)}")
    if most is not None and len(keys) > most:
        say(f"  ... {len(keys) - most} more: --all lists them")


def _print_item_changes(differences: BenchmarkDifferences, console: Console, *, everything: bool) -> None:
    say = partial(print_line, console)
    counts = differences.counts()
    name = f"{differences.task}: " if differences.task else ""
    say(f"{name}{count_phrase(differences.same, 'item')} in both")
    for sort in ("added", "removed", "changed"):
        by_cause = {cause: n for (change_sort, cause), n in counts.items() if change_sort == sort}
        causes = ", ".join(f"{cause} {n}" for cause, n in sorted(by_cause.items(), key=lambda pair: -pair[1]))
        say(f"  {sort} {sum(by_cause.values())}" + (f" ({causes})" if causes else ""))
    listed = differences.changes if everything else differences.changes[:_LISTED]
    signs = {"added": "+", "removed": "-", "changed": "~"}
    for change in listed:
        fields = f" [{', '.join(change.fields)}]" if change.fields else ""
        item = change.right or change.left
        say(f"  {signs[change.sort]} {item} {change.source} {head_excerpt(change.text, _WIDTH)}{fields}")
        say(f"      {change.cause} at {change.step}: {change.detail}")
    if len(listed) < len(differences.changes):
        say(f"  ... {len(differences.changes) - len(listed)} more: --all lists them")
