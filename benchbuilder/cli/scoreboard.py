"""The table that ends an evaluation: one line for each system."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.cli.terminal import print_line
from benchbuilder.core import DEFAULT_LANGUAGE, Estimate, format_dollars, page_texts, printable_text
from benchbuilder.evaluation import Scoreboard, SystemScore
from benchbuilder.models import Receipt

_GROUPS = {"people": "people:", "rule": "rules:"}
"""The lines above systems that are no models."""
_INVENTED = " *"
_NO_PRICE = "?"
_WIDE = 200
"""Columns of a table that goes into a file: no name is broken."""


def print_scoreboard(console: Console, board: Scoreboard, receipts: Sequence[Receipt]) -> None:
    """Print a line for each system, and what the figures rest on. Systems whose answers are made up have a star.

    Args:
        console: Where to print.
        board: The systems.
        receipts: What their answers cost, in whatever wording and phase.
    """
    say = partial(print_line, console)
    types = list(board.scorers)
    paid = {score.system.name: _paid(score, receipts) for score in board.scores}
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("model", overflow="fold", min_width=11)
    for head in [*types, "known", "invalid", *(["USD"] if any(paid.values()) else [])]:
        table.add_column(head, justify="right", no_wrap=True)
    group = "model"
    for score in board.scores:
        if score.system.group != group:
            group = score.system.group
            table.add_row(Text(_GROUPS[group], style="dim"))
        costs = [paid[score.system.name]] if any(paid.values()) else []
        means = [_mean(score.means.get(name)) for name in types]
        table.add_row(Text(_name(score)), *means, f"{score.known:,}/{score.facts:,}",
                      f"{score.without:,}/{score.answered:,}", *costs)  # fmt: skip
    say()
    console.print(table, width=None if console.is_terminal else _WIDE)
    say()
    for name in types:
        say(f"{name}: mean of {', '.join(board.scorers[name]) or 'no scorer'}, with its interval over item families")
    say("known: facts whose questions are all answered right, of those with all answers")
    say("invalid: answers without a verdict, which count as wrong, of all answers")
    if _NO_PRICE in paid.values():
        say(f"USD: {_NO_PRICE} where no price is known")
    for note in board.notes(page_texts(DEFAULT_LANGUAGE)):
        say(f"note: {note}")


def _name(score: SystemScore) -> str:
    return f"{printable_text(score.system.display_name)}{_INVENTED if score.system.invented else ''}"


def _mean(mean: Estimate | None) -> str:
    if mean is None or mean.value is None:
        return "-"
    return f"{mean.value:.2f}" if mean.low is None else f"{mean.value:.2f} ({mean.low:.2f}-{mean.high:.2f})"


def _paid(score: SystemScore, receipts: Sequence[Receipt]) -> str:
    """What the answers of a system cost; empty if nobody was asked, or a model runs here."""
    own = [receipt for receipt in receipts if receipt.step.partition(".")[2] == score.system.name]
    if all(receipt.usd is not None and not receipt.prices_as_of for receipt in own):
        return ""
    known = [receipt.usd for receipt in own if receipt.usd is not None]
    return format_dollars(sum(known)) if len(known) == len(own) else _NO_PRICE
