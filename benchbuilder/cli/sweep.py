"""``benchbuild sweep``: build several recipes or settings, and compare what came out in one table."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import (
    Sweep,
    SweepRun,
    first_sweep_failure,
    quote_plan,
    sweep_runs,
    sweep_table,
    write_sweep_files,
)
from benchbuilder.cli.costs import quote_table
from benchbuilder.cli.session import progress_watcher
from benchbuilder.config import display_path
from benchbuilder.core import count_phrase, printable_text
from benchbuilder.pipeline import BarProgress, LineProgress


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "overrides", nargs="+", metavar="key=a,b", help="recipe=NAME and any override; commas separate alternatives"
    )
    parser.add_argument("--evaluate", action="store_true", help="evaluate each run too")
    parser.add_argument("--quote", action="store_true", help="ask no model: say what each build may cost")
    parser.add_argument("--output", metavar="FOLDER", default="builds/sweep", help="where runs and tables go")


def run(args: argparse.Namespace, console: Console) -> int:
    """Run them all; 0 if every one was built, 75 if one waits for people, 3 if one failed."""
    runs = sweep_runs(args.overrides)
    folder = Path(args.output)
    sweep = Sweep(folder, runs, args.recipes, Path.cwd())
    if args.quote:
        return _print_quotes(sweep, console)

    def told(one: SweepRun) -> None:
        words = " ".join(map(shlex.quote, one.own_overrides)) or "one run"
        console.print(
            printable_text(f"run {runs.index(one) + 1} of {len(runs)}: {words}"), highlight=False, markup=False
        )

    with progress_watcher(console) as watcher:
        outcomes = sweep.run(watcher, evaluate=args.evaluate, on_start=told)
    files = write_sweep_files(folder, outcomes)
    head, lines = sweep_table(outcomes)
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*map(printable_text, line))
    console.print()
    console.print(table)
    for file in files:
        console.print(f"  {display_path(file)}", highlight=False, markup=False)
    if (error := first_sweep_failure(outcomes)) is not None:
        raise error
    states = {one.state for one in outcomes}
    if "stopped" in states:
        console.print(f"stopped after {count_phrase(len(outcomes), 'run')} of {len(runs)}", highlight=False)
        return 4
    return 3 if "failed" in states else 75 if "waits" in states else 0


def _print_quotes(sweep: Sweep, console: Console) -> int:
    """What each run would ask; equal requests of several runs count in each, and are paid for once."""
    for one in sweep.runs:
        _, plan, store = sweep.plan_run(one)
        console.print(printable_text(one.name), highlight=False, markup=False, style="bold")
        with contextlib.ExitStack() as stack:
            watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
            quoted = quote_plan(plan, store, watcher, frozenset())
        console.print("no model would be asked" if quoted is None else quote_table(quoted))
    return 0
