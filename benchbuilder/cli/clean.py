"""``benchbuild clean``: show what a build's store holds, and remove what no recipe in use needs."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.api import OpenedStore, Removable, open_stores
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import count_phrase, printable_text

_UNITS = ("B", "kB", "MB", "GB", "TB")
_AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def run(args: argparse.Namespace, console: Console) -> int:
    """Show the states of each store; remove what no recipe in use needs with ``--yes`` or after a question."""
    opened = open_stores(args.overrides, args.keep, args.recipes)
    for each in opened.stores:
        _print_store(each, console, steps=args.steps)
    for note in opened.notes:
        print_line(console, f"note: {note}")
    for what, size in opened.lasting.items():
        print_line(console, f"never removed: {what}, {size_phrase(size)}")
    removable = opened.removable(indices=args.indices)
    _print_choice(removable, console)
    size = removable.size
    if not size:
        print_line(console, "there is nothing to remove")
        return 0
    if not args.yes and not _asked(size, console):
        print_line(console, f"nothing was removed; to remove {size_phrase(size)}, add --yes")
        return 0
    freed = opened.clean(indices=args.indices)
    print_line(console, f"freed: {size_phrase(freed)} ({freed:,} bytes)")
    return 0


def _print_store(opened: OpenedStore, console: Console, *, steps: bool) -> None:
    now = datetime.now(UTC)
    print_line(console, f"\n{display_path(opened.store.folder)}:")
    table = Table("state", "steps", "size", "built", "needed by, or what differs", box=SIMPLE_HEAD, pad_edge=False)
    for state in opened.contents.states:
        table.add_row(
            "in use" if state.needed else "older", str(len(state.steps)), size_phrase(state.size),
            age_phrase((now - state.built).total_seconds()), Text(printable_text(state.label)),
        )  # fmt: skip
        for step in sorted(state.steps, key=lambda step: step.name) if steps else ():
            age = age_phrase((now - step.built).total_seconds())
            table.add_row("", step.name, size_phrase(step.size), age, step.folder.name)
    if indices := opened.contents.indices:
        table.add_row(
            "indices", str(len(indices)), size_phrase(sum(indices.values())), "", "steps that search make them again"
        )
    console.print(table)


def _print_choice(removable: Removable, console: Console) -> None:
    """Say what would be removed."""
    what = [count_phrase(len(removable.steps), "step")] if removable.steps or not removable.remains else []
    what += [count_phrase(removable.indices, "index file")] if removable.indices else []
    what += ["what a killed command left"] if removable.remains else []
    if removable.size:
        print_line(console, f"to remove: {' and '.join(what)}, together {size_phrase(removable.size)}")
    if people := removable.counted_people:
        later = "built again, they count those that there are then"
        print_line(console, f"{people} of these steps counted votes or ratings: {later}")


def _asked(size: int, console: Console) -> bool:
    """Whether somebody at a terminal says yes."""
    if not (sys.stdin.isatty() and console.is_terminal):
        return False
    console.print(Text(f"remove {size_phrase(size)}? [y/N] "), end="")
    try:
        return console.input().strip().lower() in ("y", "yes")
    except EOFError:
        return False


def size_phrase(size: float) -> str:
    """A number of bytes for people.

    >>> size_phrase(999), size_phrase(123_456), size_phrase(2_500_000)
    ('999 B', '123.5 kB', '2.5 MB')
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"


def age_phrase(seconds: float) -> str:
    """An age in its largest unit.

    >>> age_phrase(90_000), age_phrase(119), age_phrase(0.2)
    ('1 day ago', '1 minute ago', 'now')
    """
    for length, unit in _AGES:
        if seconds >= length:
            return f"{count_phrase(int(seconds // length), unit)} ago"
    return "now"
