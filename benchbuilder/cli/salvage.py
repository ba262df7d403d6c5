"""``benchbuild salvage-replies``: move the readable replies of a damaged journal into a new one."""

from __future__ import annotations

import argparse

from rich.console import Console

from benchbuilder.cli.terminal import print_line
from benchbuilder.models import salvage_journal


def run(args: argparse.Namespace, console: Console) -> int:
    """Make the new journal, and say how many replies it holds and how many are lost."""
    report = salvage_journal(args.journal)
    if report.backup is None:
        print_line(console, f"{args.journal} is whole: it has {report.saved:,} replies, and nothing was changed")
        return 0
    print_line(console, f"{report.saved:,} replies are in the new journal {args.journal}")
    if report.damaged:
        print_line(console, f"{report.damaged:,} replies are damaged: their cost stays in the receipt, their requests "
                   "count as new")  # fmt: skip
    if report.lost:
        print_line(console, f"{report.lost:,} replies are lost, with their cost; `sqlite3 FILE .recover` may find more")
    print_line(console, f"the damaged file is now {report.backup}")
    return 0
