"""The table of what claims before the questions did to the answers of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchbuilder.cli.terminal import print_line
from benchbuilder.config import is_afresh
from benchbuilder.core import count_phrase, printable_text
from benchbuilder.evaluation import CHANGED, TOO_MANY_CHANGED, Estimate, Evaluation, PressureResults, planned_power

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
_AFRESH = ("recognised", "doubted", "insight", "kept", "snowballed")
_AFRESH_MEANING = """\
recognised: called wrong in a new conversation, of the model's own wrong answers; doubted: of its right ones
insight: the former less the latter; 0: it knows its errors no better than by chance
kept: still wrong after it explained them; snowballed: kept, and called wrong in the new conversation"""

_MEANING = """\
misled: wrong after the wrong claim, of the answers that were right at first
control: wrong after a true statement about something else; excess: misled less control, the effect of the claim
takes up: how many more answers support the wrong claim, or the right one, than before
discernment: right less wrong, as proportions of what could be taken up; 0: copies whatever it is told, or nothing"""


_Line = tuple[str, str, str, str, list[str]]
"""Model, type, form, condition, and the figures."""
_GUARDED = ("saved", "cost", "cost on\nright claims")
_GUARDED_MEANING = """\
saved: the excess less that with the guard, whose control has it too
cost: right after the control, and after the right claim, less the same with the guard"""


def print_pressure_plan(console: Console, evaluation: Evaluation) -> None:
    """Print what an evaluation under pressure could show, before the quote; nothing without pressure."""
    spec, powers = evaluation.spec.pressure, [*planned_power(evaluation)]
    if spec is None or not powers:
        return
    pushes = [texts for texts in spec.push_turns.values() if not is_afresh(texts[-1])]
    parts = [(len(spec.texts), "context", spec.design.contexts), (len(pushes), "push", spec.design.pushes)]
    each = " and ".join(str(drawn or many) for many, _, drawn in parts if many)
    many = ", ".join(f"{many} {noun}{'' if many == 1 else 'es' if noun == 'push' else 's'}" for many, noun, _ in parts)
    print_line(console, f"pressure: {many}; each family is asked {each} of them, and the control")
    for part, families, drop, needed, full in powers:
        seen = f"a drop of {100 * drop:.0f} points in a context would be seen four times out of five"
        print_line(console, f"  {part}, {families:,} families: {seen} (if {100 * CHANGED:.0f} % of the answers change)")
        more = f", or {full:,} with evaluation.pressure.design.contexts=null" if needed > full else ""
        print_line(console, f"  5 points: {needed:,} families{more}")


def print_pressure(console: Console, found: PressureResults) -> None:
    """Print a line for each model, type of questions and context, and what the figures mean."""
    width = console.width if console.is_terminal else _WIDE
    wide, lines = width >= _ROOM, list[_Line]()
    for one in found.headlines():
        misled = [_figure(one.misled), _figure(one.misled_control), _figure(one.excess, wide=wide)]
        taken = [_figure(one.uptake_wrong), _figure(one.uptake_right), _figure(one.discernment, wide=wide)]
        p = "-" if one.p_holm is None else f"{one.p_holm:.3f}"
        lines.append((one.model, one.type, one.form, one.context, [*misled, p, *taken]))
    _print_table(console, width, "under pressure", _HEADS, lines, _MEANING)
    lines.clear()
    for one in (one for one in found.pushes if not one.key):
        held = [one.conviction_explicit, one.flexibility, one.flexibility_explicit, one.turn_of_flip]
        figures = [_figure(one.conviction, wide=wide), *map(_figure, held)]
        lines.append((one.model, one.type, one.form, one.push, figures))
    _print_table(console, width, "contradicted", _PUSHED, lines, _PUSHED_MEANING)
    lines = [
        (one.model, one.type, one.form, one.push, [_figure(getattr(one, name), wide=wide) for name in _AFRESH])
        for one in found.snowballs
        if not one.key
    ]
    _print_table(console, width, "asked afresh", _AFRESH, lines, _AFRESH_MEANING)
    lines = [
        (one.model, one.type, one.form, one.context, [_figure(value, wide=wide) for value in one.figures.values()])
        for one in found.guards
    ]
    _print_table(console, width, "with a guard", _GUARDED, lines, _GUARDED_MEANING)
    for note in _notes(found):
        print_line(console, note)


def _print_table(
    console: Console, width: int, title: str, heads: Sequence[str], lines: Sequence[_Line], meaning: str
) -> None:
    """Print a table, if there is a line, and what its figures mean."""
    if not lines:
        return
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for head in (title, "", "", *heads):
        table.add_column(head, justify="right" if head in heads else "left", no_wrap=head in heads)
    for model, kind, form, name, figures in lines:
        table.add_row(Text(printable_text(model)), f"{kind} {form}", name, *figures)
    print_line(console)
    console.print(table, width=width)
    print_line(console)
    print_line(console, meaning)


def _notes(found: PressureResults) -> Iterator[str]:
    """What limits these figures."""
    if found.arguable:
        yield f"no part of these lines, for it may make a wrong claim right: {', '.join(found.arguable)}"
    if found.unreviewed:
        items = count_phrase(found.unreviewed, "item")
        then = "the figures are of the others" if found.judged else "one that is right counts against the models"
        yield f"note: nobody has judged the wrong answers of {items}; {then}"
    for model, changed, many in found.repeats():
        warning = "warning: " if changed > TOO_MANY_CHANGED * many else ""
        yield f"{warning}{model}: of {many} questions asked again as they are, {changed} got an answer of another state"
    rest = "; no context can be called worse than another" if found.incomplete else ""
    for part, families, drop in found.detectable():
        yield f"{part}, {families:,} families: a drop below {100 * drop:.0f} points will not be seen{rest}"


def _figure(estimate: Estimate, *, wide: bool = False) -> str:
    if estimate.value is None:
        return "-"
    value = f"{estimate.value:.2f}"
    return f"{value} ({estimate.low:.2f} to {estimate.high:.2f})" if wide and estimate.low is not None else value
