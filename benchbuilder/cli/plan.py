"""``benchbuild plan``: what a build would reuse, why the rest runs, and what that would ask of models."""

from __future__ import annotations

import argparse
import contextlib

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import quote_plan
from benchbuilder.cli.costs import budget_lines, quote_notes, quote_table
from benchbuilder.cli.session import Session, add_overrides, add_refresh, add_verify, open_session
from benchbuilder.core import InstallationError
from benchbuilder.pipeline import BarProgress, LineProgress, require_libraries


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)
    add_verify(parser)
    parser.add_argument("--no-quote", action="store_true", help="run nothing, and do not say what models would cost")


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the plan and, if models would be asked, a quote; for that the steps are built that ask none."""
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
            told = f"\nwarning: a build would stop at once: {error}"
            console.print(told, highlight=False, markup=False, soft_wrap=True)
    if asking and not args.no_quote:
        _print_quote(session, console, refresh)
    return 0


def _print_quote(session: Session, console: Console, refresh: frozenset[str]) -> None:
    def say(text: str = "") -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)

    say("\nthe free steps are built, so that the quote is made from the real prompts:")
    with contextlib.ExitStack() as stack:
        watcher = stack.enter_context(BarProgress(console)) if console.is_terminal else LineProgress(console)
        quoted = quote_plan(session.plan, session.store, watcher, refresh)
    if quoted is None:
        return
    say("\nwhat models would be asked:")
    console.print(quote_table(quoted))
    say()
    for line in (*quote_notes(quoted), *budget_lines(quoted, session.plan.recipe.budget)):
        say(line)
