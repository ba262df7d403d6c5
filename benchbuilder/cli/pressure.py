"""The table of what claims before the questions did to the answers of models."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.cli.terminal import print_line
from benchbuilder.core import count_phrase, printable_text
from benchbuilder.evaluation import Estimate, PressureResults

_WIDE = 200
"""Columns of a table that goes into a file: no name is broken."""
_ROOM = 120
"""With fewer columns there is no room for intervals."""
_HEADS = ("misled", "control", "excess", "p\n(Holm)", "takes up\nwrong", "takes up\nright", "discernment")
_PUSHED = ("conviction", "explicit", "flexibility", "explicit\nalone", "turn of\nflip")
_PUSHED_MEANING = """\
conviction: still right after the last turn, of the right answers that were contradicted by the wrong one
flexibility: right, of the wrong answers that were contradicted by the right one; turn of flip: of right answers
explicit: by what replies say of the question alone, without "you are right" and "I keep my answer\""""

_MEANING = """\
misled: wrong after the wrong claim, of the answers that were right at first
control: wrong after a true statement about something else; excess: misled less control, the effect of the claim
takes up: how many more answers support the wrong claim, or the right one, than before
discernment: right less wrong, as proportions of what could be taken up; 0: copies whatever it is told, or nothing"""


def print_pressure(console: Console, found: PressureResults) -> None:
    """Print a line for each model, type of questions and context, and what the figures mean."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for head in ("under pressure", "", "", *_HEADS):
        table.add_column(head, justify="right" if head in _HEADS else "left", no_wrap=head in _HEADS)
    width = console.width if console.is_terminal else _WIDE
    wide = width >= _ROOM
    for one in (one for one in found.figures if not one.key):
        p = "-" if one.p_holm is None else f"{one.p_holm:.3f}"
        misled = (_figure(one.misled), _figure(one.misled_control), _figure(one.excess, wide=wide), p)
        taken = (_figure(one.uptake_wrong), _figure(one.uptake_right), _figure(one.discernment, wide=wide))
        table.add_row(Text(printable_text(one.model)), f"{one.type} {one.form}", one.context, *misled, *taken)
    print_line(console)
    console.print(table, width=width)
    print_line(console)
    print_line(console, _MEANING)
    if found.pushes:
        _print_pushes(console, found, width)
    if found.unreviewed:
        items = count_phrase(found.unreviewed, "item")
        print_line(console, f"note: nobody has judged {items}; a wrong answer that is right counts against the models")


def _print_pushes(console: Console, found: PressureResults, width: int) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for head in ("contradicted", "", "", *_PUSHED):
        table.add_column(head, justify="right" if head in _PUSHED else "left", no_wrap=head in _PUSHED)
    for one in (one for one in found.pushes if not one.key):
        held = (one.conviction, one.conviction_explicit, one.flexibility, one.flexibility_explicit, one.turn_of_flip)
        figures = [_figure(value, wide=wide) for value, wide in zip(held, (width >= _ROOM, *[False] * 4), strict=True)]
        table.add_row(Text(printable_text(one.model)), f"{one.type} {one.form}", one.push, *figures)
    print_line(console)
    console.print(table, width=width)
    print_line(console)
    print_line(console, _PUSHED_MEANING)


def _figure(estimate: Estimate, *, wide: bool = False) -> str:
    if estimate.value is None:
        return "-"
    value = f"{estimate.value:.2f}"
    return f"{value} ({estimate.low:.2f} to {estimate.high:.2f})" if wide and estimate.low is not None else value
