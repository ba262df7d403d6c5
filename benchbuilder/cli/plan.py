"""``benchbuild plan``: what a build would reuse, and why the rest runs."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from benchbuilder.cli.session import add_overrides, add_refresh, open_session


def register(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_overrides(parser)
    add_refresh(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print the plan; nothing is run."""
    session = open_session(args, console)
    statuses = session.plan.statuses(session.store, frozenset(args.refresh or ()))
    table = Table("step", "kind", "from", "state", "why", box=None, pad_edge=False, header_style="bold")
    for name, status in statuses.items():
        inputs = "; ".join(
            f"{'' if port == 'each' else port + ': '}{', '.join(names)}" for port, names in status.node.inputs.items()
        )
        table.add_row(name, status.node.kind, inputs, status.state, status.why or status.note)
    console.print(table)
    reused = sum(status.state == "reused" for status in statuses.values())
    console.print(f"\n{reused} reused, {len(statuses) - reused} to run", highlight=False)
    return 0
