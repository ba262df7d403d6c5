"""The table of what the claims of answers come to."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.cli.terminal import print_line
from benchbuilder.core import count_phrase, printable_text
from benchbuilder.evaluation import ClaimResults, Estimate

_WIDE = 200
"""Columns of a table that goes into a file: no name is broken."""
_HEADS = (
    "misinformation",
    "asserts\nright",
    "contra-\ndictions",
    "precision",
    "grounded",
    "F1@{k}",
    "claims",
    "answers",
)

_MEANING = """\
misinformation: answers that assert the wrong statement or deny the right one, of all that were given
contradictions: answers with a contradicted claim; precision: supported claims of the decided ones; grounded: of all"""
_FLOOR = "by rule, a floor: words were compared, and what a rule misses counts as not said"


def print_claims(console: Console, found: ClaimResults) -> None:
    """Print a line for each system, and what the figures mean."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("claims in answers", justify="left")
    for head in _HEADS:
        table.add_column(head.format(k=found.k), justify="right", no_wrap=True)
    for one in found.figures:
        wrong, *others = one.aspects.values()
        shown = (*map(_figure, others[:-1]), _figure(one.claims), str(wrong.n))
        table.add_row(Text(printable_text(one.system)), _figure(wrong, wide=True), *shown)
    print_line(console)
    console.print(table, width=console.width if console.is_terminal else _WIDE)
    print_line(console)
    print_line(console, _MEANING)
    rated = 0 if found.audit is None else found.audit.claims
    checked = f"{count_phrase(rated, 'claim')} rated by people" if rated else "not audited by people"
    print_line(console, f"verified by {found.verifier}; {checked}")
    if found.by_rule:
        print_line(console, _FLOOR)
    if unread := sum(one.unread for one in found.figures):
        print_line(console, f"note: {count_phrase(unread, 'answer')} with a claim without a verdict are in no rate")


def _figure(estimate: Estimate, *, wide: bool = False) -> str:
    if estimate.value is None:
        return "-"
    value = f"{estimate.value:.2f}"
    return f"{value} ({estimate.low:.2f}-{estimate.high:.2f})" if wide and estimate.low is not None else value
