"""``benchbuild due``: the items whose facts must be checked again, or whose sources changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchbuilder.api import due_items
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import LoadedRecipe, display_path, load_recipe
from benchbuilder.core import Problem, RecipeError, count_phrase, head_excerpt, printable_text
from benchbuilder.pipeline import ItemDays
from benchbuilder.publishing import read_due_sheet

_SHOWN, _MOST = 60, 10


def run(args: argparse.Namespace, console: Console) -> int:
    """List what is due, write the sheet for experts, or read it."""
    loaded = load_recipe(args.overrides, recipes=args.recipes)
    day = _day(args.on)
    if args.read is not None:
        _read(loaded, args.read, day, console)
        return 0
    found = due_items(loaded, day)
    if args.json:
        for one in found.due:
            print_line(console, json.dumps(asdict(one), ensure_ascii=False))
    else:
        _print_due(found.items, found.due, day, console)
    if args.output is not None:
        found.write_sheet(args.output)
        print_line(
            console,
            f"sheet: {display_path(args.output)}, a row for each fact; fill in still_right, who and "
            "text, then: benchbuild due --read SHEET recipe=...",
        )
    return 0


def _day(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise RecipeError(
            [Problem("--on takes a day", where="command line: --on", actual=str(text), hint="--on 2026-01-31")]
        ) from None


def _print_due(items: Sequence[ItemDays], due: Sequence[ItemDays], day: date, console: Console) -> None:
    facts: dict[str, list[ItemDays]] = {}
    for one in due:
        facts.setdefault(one.fact, []).append(one)
    table = Table(
        "due", "checked", "source", "items", "first item", "why", box=SIMPLE_HEAD, pad_edge=False, header_style="bold"
    )
    for same in list(facts.values())[:_MOST]:
        one = same[0]
        why = f"changed: {', '.join(one.changed)}" if one.changed else f"its day has come ({one.days.said_by})"
        table.add_row(
            one.days.recheck_by or "-",
            one.days.checked_on or "-",
            printable_text(one.unit),
            str(len(same)),
            f"{one.item} {printable_text(head_excerpt(one.text, _SHOWN))}",
            printable_text(why),
        )
    if facts:
        console.print(table, width=None if console.is_terminal else 160)
    if len(facts) > _MOST:
        print_line(console, f"and {len(facts) - _MOST} more facts: --output and --json have them all")
    changed = sum(bool(one.changed) for one in due)
    silent = sum(not one.days.recheck_by for one in items)
    print_line(
        console,
        f"{count_phrase(len(due), 'item')} of {len(items):,} due on {day}, on "
        f"{count_phrase(len(facts), 'fact')}: {changed:,} on rows that changed, "
        f"{len(due) - changed:,} by their day; no day is named for {silent:,}",
    )
    if changed:
        print_line(console, "next: build again; experts are asked about what changed, and all other votes stay")


def _read(loaded: LoadedRecipe, file: Path, day: date, console: Console) -> None:
    read = read_due_sheet(loaded, Path.cwd(), file, day)
    print_line(
        console,
        f"{count_phrase(len(read.checks), 'fact')} checked on {day}, in {display_path(read.log)}; "
        "keep this file under version control",
    )
    if read.errata is not None:
        print_line(
            console,
            f"{len(read.errata.added)} reported as outdated, in {display_path(read.errata.log)}; "
            "next: benchbuild errata ls open recipe=...",
        )
    if read.left:
        print_line(console, f"{count_phrase(read.left, 'row')} not filled in")
