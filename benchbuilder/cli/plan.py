"""``benchbuild plan``: show what a build would do."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from benchbuilder.authoring import quote_plan
from benchbuilder.cli.build import form_counts
from benchbuilder.cli.costs import print_quote
from benchbuilder.cli.session import build_progress, open_session
from benchbuilder.cli.terminal import print_line
from benchbuilder.core import InstallationError
from benchbuilder.pipeline import require_libraries


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
    complete = {name: status.node.key for name, status in statuses.items() if status.state == "reused"}
    for name, key in complete.items():
        manifest = session.store.whole_manifest(name, key)
        if manifest is not None and (counts := form_counts(manifest)):
            print_line(console, f"{name} by form: {counts}")
    for warning in session.warnings:
        if warning.key.startswith("steps."):  # the others are about the build as a whole
            print_line(console, f"warning: {warning}")
    asking = [s for s in statuses.values() if s.node.model_spec is not None and s.state != "reused"]
    if asking:
        try:
            require_libraries(session.loaded)
        except InstallationError as error:
            print_line(console, f"\nwarning: a build would stop at once: {error}")
    if asking and not args.no_quote:
        console.print("\nsteps without a model are built, so that the quote uses the real prompts:", highlight=False)
        with build_progress(console) as watcher:
            quote = quote_plan(session.plan, session.store, watcher, refresh)
        console.print("\nwhat models would be asked:", highlight=False)
        print_quote(console, quote, session.plan.recipe.budget)
    return 0
