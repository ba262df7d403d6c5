"""The table that ends an evaluation: one line for each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.cli.terminal import print_line
from benchbuilder.core import DEFAULT_LANGUAGE, format_dollars, page_texts, printable_text
from benchbuilder.evaluation import Estimate, Scoreboard, SystemScore
from benchbuilder.exporters import TableCell
from benchbuilder.models import Receipt

_GROUPS = {"people": "people:", "rule": "rules:"}
"""The lines above systems that are no models."""
_INVENTED = " *"
_NO_PRICE = "?"
_WIDE = 200
"""Columns of a table that goes into a file: no name is broken."""
_NARROWEST, _GAP = 11, 2
"""How narrow the column of names may be, and the space between columns."""
_ASPECTS = {"verdict": "accuracy"}
"""What the mean of an aspect is called, where it has a name of its own."""
_ROLES = {"people": "people ({})", "judge": "the judge {}", "rule": "the rule {}"}
"""Who scored."""


@dataclass(frozen=True)
class _Column:
    """A column: the lines of its heading, a cell for each system, and what it says."""

    head: str
    cells: Sequence[str]
    about: str = ""

    @property
    def width(self) -> int:
        """How many signs wide it is, with the gap before it."""
        return max(map(len, (*self.head.split("\n"), *self.cells))) + _GAP


def print_scoreboard(console: Console, board: Scoreboard, receipts: Sequence[Receipt]) -> None:
    """Print a line for each system, and what the figures rest on. Systems whose answers are made up have a star.

    Every column names its metric. Columns that do not fit into the terminal stand in a further table below.

    Args:
        console: Where to print.
        board: The systems.
        receipts: What their answers cost, in whatever wording and phase.
    """
    say = partial(print_line, console)
    columns = [*(_metrics(board) or _means(board)), *_counts(board), *_abstentions(board), *_costs(board, receipts)]
    width = console.width if console.is_terminal else _WIDE
    say()
    for warning in board.warnings(page_texts(DEFAULT_LANGUAGE)):
        say(f"warning: {warning}")
    for part in _parts(columns, width - _NARROWEST):
        console.print(_table(board, part), width=width)
        say()
    for about in dict.fromkeys(column.about for column in columns if column.about):
        say(about)
    say("in parentheses: the interval over item families")
    for note in board.notes(page_texts(DEFAULT_LANGUAGE)):
        say(f"note: {note}")


def _parts(columns: Sequence[_Column], room: int) -> list[list[_Column]]:
    """The columns of each table: as many as there is room for, and at least one."""
    parts: list[list[_Column]] = [[]]
    for column in columns:
        if parts[-1] and sum(one.width for one in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    return parts


def _table(board: Scoreboard, columns: Sequence[_Column]) -> Table:
    """The systems with some of their columns; a line stands above the people and above the rules."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("model", overflow="fold", min_width=_NARROWEST)
    for column in columns:
        table.add_column(column.head, justify="right", no_wrap=True)
    group = "model"
    for place, score in enumerate(board.scores):
        if score.system.group != group:
            group = score.system.group
            table.add_row(Text(_GROUPS[group], style="dim"))
        table.add_row(Text(_name(score)), *(column.cells[place] for column in columns))
    return table


def _metrics(board: Scoreboard) -> list[_Column]:
    """The metrics of the recipe, as the results state them."""
    columns: list[_Column] = []
    for metric in board.metrics:
        cells = {line.cells[0].words: line.cells[1] for line in metric.lines if line.block == "own"}
        title = metric.name.replace("_", " ")
        better = "lower" if metric.name.startswith(tuple(board.falling)) else "higher"
        label = f"{title} {metric.figure}".rstrip()
        columns.append(
            _Column(
                f"{title}\n{f'{metric.figure} %'.lstrip()}",
                [_share(cells.get(score.system.display_name)) for score in board.scores],
                f"{label}: metric {metric.name} of the recipe, in %, {better} is better",
            )
        )
    return columns


def _means(board: Scoreboard) -> list[_Column]:
    """The mean of each type of items in the measure that counts for it."""
    columns: list[_Column] = []
    for name, measures in board.measures.items():
        aspects = ", ".join(dict.fromkeys(_ASPECTS.get(one.aspect, one.aspect) for one in measures)) or "score"
        scorers = dict.fromkeys(_ROLES[board.roles.get(one.scorer, "rule")].format(one.scorer) for one in measures)
        about = f"{name} {aspects}: mean by {', '.join(scorers) or 'no scorer'}, from 0 to 1, higher is better"
        cells = [_mean(score.means.get(name)) for score in board.scores]
        columns.append(_Column(f"{name}\n{aspects}".lstrip(), cells, about.lstrip()))
    return columns


def _counts(board: Scoreboard) -> list[_Column]:
    """How many facts each system knows, and how many of its answers say nothing."""
    return [
        _Column(
            "known",
            [f"{score.known:,}/{score.facts:,}" for score in board.scores],
            "known: facts whose scored questions are all answered right, of those with all answers",
        ),
        _Column(
            "invalid",
            [f"{score.without:,}/{score.answered:,}" for score in board.scores],
            "invalid: invalid, abstained, refused, empty and filtered answers, which count as wrong, of all answers",
        ),
    ]


def _abstentions(board: Scoreboard) -> list[_Column]:
    """How often each system says that it does not know, and a score in which a wrong answer costs."""
    columns: list[_Column] = []
    for table in board.abstentions:
        names = [score.system.display_name for score in board.scores]
        form = f"{table.title.rpartition(' ')[2]}\n" if len(board.abstentions) > 1 else ""
        columns += [
            _Column(form + head, [_share(table.cell(name, key)) for name in names], about)
            for key, head, about in (
                ("attempted", "right of\nattempted %", "right of attempted: without abstentions, refusals and silence"),
                ("abstention", "abstained\n%", "abstained: answers that say they do not know, and refusals, of all"),
                ("wrong", "wrong\n%", "wrong: answers with the wrong verdict, of all"),
                ("penalty", "penalty\n%", "penalty: the mean of the weights of evaluation.penalty"),
            )
        ]
    return columns


def _costs(board: Scoreboard, receipts: Sequence[Receipt]) -> list[_Column]:
    """What the answers of each system cost; no column if nobody was asked."""
    paid = [_paid(score, receipts) for score in board.scores]
    about = f"USD: {_NO_PRICE} where no price is known" if _NO_PRICE in paid else ""
    return [_Column("USD", paid, about)] if any(paid) else []


def _name(score: SystemScore) -> str:
    return f"{printable_text(score.system.display_name)}{_INVENTED if score.system.invented else ''}"


def _mean(mean: Estimate | None) -> str:
    if mean is None or mean.value is None:
        return "-"
    return f"{mean.value:.2f}" if mean.low is None else f"{mean.value:.2f} ({mean.low:.2f}-{mean.high:.2f})"


def _share(cell: TableCell | None) -> str:
    """A metric in whole per cent with its interval."""
    if cell is None or cell.value is None:
        return "-"
    value, low, high = (None if part is None else f"{part * 100:.0f}" for part in (cell.value, cell.low, cell.high))
    return f"{value}" if low is None else f"{value} ({low}-{high})"


def _paid(score: SystemScore, receipts: Sequence[Receipt]) -> str:
    """What the answers of a system cost; empty if nobody was asked, or a model runs here."""
    own = [receipt for receipt in receipts if receipt.step.partition(".")[2] == score.system.name]
    if all(receipt.usd is not None and not receipt.prices_as_of for receipt in own):
        return ""
    known = [receipt.usd for receipt in own if receipt.usd is not None]
    return format_dollars(sum(known)) if len(known) == len(own) else _NO_PRICE
