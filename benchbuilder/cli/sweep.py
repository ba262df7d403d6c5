"""``benchbuild sweep``: build several recipes or settings, and compare the results in one table."""

from __future__ import annotations

import argparse
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
from benchbuilder.cli.session import build_progress, progress_watcher
from benchbuilder.cli.terminal import print_line
from benchbuilder.config import display_path
from benchbuilder.core import count_phrase, printable_text


def run(args: argparse.Namespace, console: Console) -> int:
    """Run them all; 0 if all are built, 75 if one waits for people, 3 if one failed, 4 if a service stopped them."""
    runs = sweep_runs(args.overrides)
    folder = Path(args.output)
    sweep = Sweep(folder, runs, args.recipes, Path.cwd())
    if args.quote:
        return _print_quotes(sweep, console)

    def print_start(run: SweepRun) -> None:
        overrides = " ".join(map(shlex.quote, run.own_overrides)) or "one run"
        print_line(console, f"run {runs.index(run) + 1} of {len(runs)}: {overrides}")

    with progress_watcher(console) as watcher:
        outcomes = sweep.run(watcher, evaluate=args.evaluate, on_start=print_start)
    files = write_sweep_files(folder, outcomes)
    head, lines = sweep_table(outcomes)
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for line in lines:
        table.add_row(*map(printable_text, line))
    console.print()
    console.print(table)
    for file in files:
        print_line(console, f"  {display_path(file)}")
    if (error := first_sweep_failure(outcomes)) is not None:
        raise error
    states = {outcome.state for outcome in outcomes}
    if "stopped" in states:
        print_line(console, f"stopped after {count_phrase(len(outcomes), 'run')} of {len(runs)}")
        return 4
    return 3 if "failed" in states else 75 if "waits" in states else 0


def _print_quotes(sweep: Sweep, console: Console) -> int:
    """Print what each run would ask; a request that several runs share counts in each but is paid once."""
    for run in sweep.runs:
        _, plan, store = sweep.plan_run(run)
        print_line(console, run.name, "bold")
        with build_progress(console) as watcher:
            quote = quote_plan(plan, store, watcher, frozenset())
        console.print("no model would be asked" if quote is None else quote_table(quote))
    return 0
