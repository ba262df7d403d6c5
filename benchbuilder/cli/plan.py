"""``benchbuild plan``: what a build would reuse, why the rest runs, and what models would be asked."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import quote_plan
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.session import Session, add_overrides, add_refresh, add_verify, build_progress, open_session
from benchbuilder.cli.terminal import print_line
from benchbuilder.core import InstallationError
from benchbuilder.pipeline import require_libraries


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)
    add_verify(parser)
    parser.add_argument("--no-quote", action="store_true", help="run nothing and leave out what models would cost")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the plan and, if models would be asked, a quote; the quote builds the steps without a model."""
    session = open_session(args, console)
    refresh = frozenset(args.refresh or ())
    statuses = session.plan.statuses(session.store, refresh)
    table = Table("step", "kind", "from", "state", "why", box=None, pad_edge=False, header_style="bold")
    for name, status in statuses.items():
        inputs = "; ".join(
            f"{'' if port == 'each' else port + ': '}{', '.join(names)}" for port, names in status.node.inputs.items()
        )
        table.add_row(name, status.node.kind, inputs, status.state, status.why or status.note)
    console.print(table)
    reused = sum(status.state == "reused" for status in statuses.values())
    console.print(f"\n{reused} reused, {len(statuses) - reused} to run", highlight=False)
    asking = [s for s in statuses.values() if s.node.model_spec is not None and s.state != "reused"]
    if asking:
        try:
            require_libraries(session.loaded)
        except InstallationError as error:
            print_line(console, f"\nwarning: a build would stop at once: {error}")
    if asking and not args.no_quote:
        _print_quote(session, console, refresh)
    return 0


def _print_quote(session: Session, console: Console, refresh: frozenset[str]) -> None:
    console.print("\nsteps without a model are built, so that the quote uses the real prompts:", highlight=False)
    with build_progress(console) as watcher:
        quote = quote_plan(session.plan, session.store, watcher, refresh)
    if quote is None:
        return
    console.print("\nwhat models would be asked:", highlight=False)
    print_quote(console, quote, session.plan.recipe.budget)
