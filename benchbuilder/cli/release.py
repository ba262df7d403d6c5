"""``benchbuild release``: write a version of a built benchmark for others."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path, load_recipe
from benchbuilder.core import Problem, RecipeError, count_phrase
from benchbuilder.publishing import Release, ReleaseRequest, make_release

_MISSPELT = 0.7
"""How like `version` the key of an override must be that was meant to be it."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Write the release, and say where it is and what it holds."""
    version, overrides = split_version(args.overrides)
    loaded = load_recipe(overrides, recipes=args.recipes)
    release = make_release(ReleaseRequest(loaded, version, Path.cwd(), despite=args.despite, note=args.changes))
    print_release(release, console)
    return 0


def print_release(release: Release, console: Console) -> None:
    """Say where a release is and what it holds."""
    record = release.record
    print_line(console, f"{record.name} {record.version} in {display_path(release.folder)}:")
    for config in record.configs:
        for split, count in config.items.items():
            print_line(console, f"  {config.files[split]:<24} {count_phrase(count, 'row')}")
    for file in release.files:
        if file.parent == release.folder:
            print_line(console, f"  {file.name}")
    if record.private_items:
        held = f"the labels of {count_phrase(record.private_items, 'question')} stay in"
        print_line(console, f"{held} {display_path(release.private_folder)}: keep a copy of this folder, publish none")
    for note in release.notes:
        print_line(console, f"note: {note}")
    for refusal in release.refusals:
        print_line(console, f"released despite: {refusal}")
    target = "" if record.repository else " --repository OWNER/NAME"
    folder, card = display_path(release.folder), display_path(release.folder / "README.md")
    print_line(console, f"next: read {card}, then benchbuild publish --dry-run{target} {folder}")


def split_version(words: list[str]) -> tuple[str, list[str]]:
    """Take ``version=1.0.0`` out of the words of a command line: the version, and the rest."""
    versions = [word.partition("=")[2] for word in words if word.startswith("version=")]
    for word in () if versions else words:
        name, _, given = word.replace(":", "=", 1).partition("=")
        if "." not in name and get_close_matches(name, ["version"], cutoff=_MISSPELT):
            hint = f"did you mean version={given or '1.0.0'}?"
            raise RecipeError([Problem("no version is given", where=f"command line: {word}", hint=hint)])
    return (versions or [""])[-1], [word for word in words if not word.startswith("version=")]
