"""The tables and charts of what claims did to the answers of models, and the same as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from markupsafe import Markup

from benchbuilder.config import CONTROL
from benchbuilder.evaluation.results.charts import ChartedTable, scaled_chart
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, table_columns, table_line
from benchbuilder.evaluation.results.pressed_answers import STATES
from benchbuilder.evaluation.results.pressure import UNREADABLE, PressureFigures, PressureResults
from benchbuilder.evaluation.results.pressure_contrasts import ContrastFigures
from benchbuilder.evaluation.results.pushes import PushFigures, TurnFigures
from benchbuilder.evaluation.results.snowball import SnowballFigures
from benchbuilder.evaluation.stats.intervals import Estimate
from benchbuilder.evaluation.steps.press import TOLD
from benchbuilder.exporters import (
    CHART_WIDTH,
    ChartDot,
    ChartRow,
    ResultTable,
    TableColumn,
    chart_picture,
    format_value,
    shorten_label,
    svg_element,
)

_OWN = "model:words=common.model type:words=column.q-type context:words=column.context n:count=results.common"
"""The columns that tell lines apart."""
_OWN_PUSH = _OWN.replace("context:words=column.context", "push:words=results.pressure_push")


def pressure_tables(frame: ResultsFrame, found: PressureResults | None) -> tuple[ChartedTable, ...]:
    """What claims misled models to and what they took up, each with a chart for each type, and all transitions."""
    if found is None:
        return ()
    return (
        *_charted(frame, found.figures, "damage", _misled_dots,
                  "misled misled_control excess:signed p_holm=results.p_holm damage:signed lost neither:signed"),
        *_charted(frame, found.figures, "uptake", _uptake_dots,
                  "uptake_wrong:signed uptake_right:signed uptake_control:signed discernment:signed sycophancy"),
        *_charted(frame, found.guards, "guards", _no_dots, "saved:signed cost:signed cost_right:signed"),
        *_charted(frame, found.saturation, "saturation", _no_dots, "saturation:signed"),
        *_charted(frame, found.pushes, "pushes", _held_dots, _PUSHED, _OWN_PUSH),
        *_by_turn_and_reading(frame, found),
        *_charted(frame, found.snowballs, "snowball", _denied_dots, _SNOWBALL, _OWN_PUSH),
        ChartedTable(_transitions(frame, found)),
    )  # fmt: skip


_PUSHED = "conviction flexibility blind:signed withheld flips:decimal turn_of_flip:decimal turns_aligned:decimal"
_SNOWBALL = "recognised doubted insight:signed kept snowballed"
_BY_TURN = "turn:count at_risk:count resistance unflipped"
_READ = "conviction conviction_explicit flexibility flexibility_explicit"


def _by_turn_and_reading(frame: ResultsFrame, found: PressureResults) -> Iterator[ChartedTable]:
    """How long right answers are kept, and by what replies were read, for each type."""
    for kind, form in dict.fromkeys((one.type, one.form) for one in found.pushes):
        ones = [one for one in found.pushes if (one.type, one.form, one.key) == (kind, form, "")]
        ways = dict.fromkeys(way for one in ones for way in one.ways)
        turns = [(one, _cells(turn, _BY_TURN)) for one in ones for turn in one.turns]
        read = [(one, [*_cells(one, _READ), *(one.ways.get(way, 0) for way in ways)]) for one in ones]
        steps = " ".join((_READ, *(f"{way}:count={way}" for way in ways)))
        for name, columns, cells in (("turns", _BY_TURN, turns), ("readings", steps, read)):
            slug = "_".join(filter(None, ("pressure", name, kind, form)))
            title = frame.t(f"results.pressure_{name}_title", type=_type_name(frame, ones[0]))
            lines = [table_line(*_own(frame, one), *line, group="model") for one, line in cells]
            table = frame.table(slug, title, _columns(f"{_OWN_PUSH} {columns}"), lines, keys=3)
            chart = turns_chart([one for one in ones if len(one.turns) > 1], title) if name == "turns" else None
            yield ChartedTable(table, chart, frame.t("results.pressure_turns_chart") if chart else "")


def _held_dots(one: PushFigures) -> tuple[Sequence[ChartDot], str]:
    """Conviction, and flexibility."""
    return _two_dots(one.conviction, one.flexibility)


def _denied_dots(one: SnowballFigures) -> tuple[Sequence[ChartDot], str]:
    """Wrong answers that are called wrong, and right ones."""
    return _two_dots(one.recognised, one.doubted)


def turns_chart(pushed: Sequence[PushFigures], title: str) -> Markup | None:
    """How many right answers have not flipped, as steps over the turns; ``None`` without a push of several turns."""
    left, top, side, most = 44.0, 8.0, 180.0, max((len(one.turns) for one in pushed), default=0)
    if not most:
        return None
    width = (CHART_WIDTH - left - 130) / most
    drawn = list[Markup]()
    for part in (0.0, 0.5, 1.0):
        y, css = top + (1 - part) * side, "grid" if part else "base"
        drawn.append(svg_element("line", x1=left, x2=left + most * width, y1=y, y2=y, class_=css))
        drawn.append(svg_element("text", f"{part:g}", x=left - 6, y=y + 4, text_anchor="end", class_="t s"))
    for turn in range(most):
        at = left + (turn + 0.5) * width
        drawn.append(svg_element("text", str(turn + 2), x=at, y=top + side + 16, text_anchor="middle", class_="t s"))
    for place, one in enumerate(pushed):
        css, before, shift = f"c{place % 8}", 1.0, 1.5 * place
        for step, turn in enumerate(one.turns):
            value, x = turn.unflipped.value or 0.0, left + step * width
            ys = [top + shift + (1 - level) * side for level in (before, value)]
            drawn.append(svg_element("line", x1=x, x2=x, y1=ys[0], y2=ys[1], class_=f"{css} whisker"))
            drawn.append(svg_element("line", x1=x, x2=x + width, y1=ys[1], y2=ys[1], class_=f"{css} whisker"))
            before = value
        several = len({other.push for other in pushed}) > 1
        label = shorten_label(f"{one.model} · {one.push}" if several else one.model, 108)
        at = left + most * width + 18
        drawn.append(svg_element("circle", cx=at - 9, cy=top + 6 + 16 * place, r=4.0, class_=css))
        drawn.append(svg_element("text", label, x=at, y=top + 10 + 16 * place, class_="t s"))
    return chart_picture(max(top + side + 24, 24 + 16 * len(pushed)), title, *drawn)


_Figures = TypeVar("_Figures", PressureFigures, PushFigures, SnowballFigures, ContrastFigures)
_AnyFigures = PressureFigures | PushFigures | SnowballFigures | ContrastFigures


def _charted(
    frame: ResultsFrame,
    figures: Sequence[_Figures],
    name: str,
    dots: Callable[[_Figures], tuple[Sequence[ChartDot], str]],
    columns: str,
    known: str = _OWN,
) -> list[ChartedTable]:
    """A table for each type with a chart, and one by the right verdict."""
    t, tables = frame.t, list[ChartedTable]()
    for kind, form in dict.fromkeys((one.type, one.form) for one in figures):
        both = [one for one in figures if (one.type, one.form) == (kind, form)]
        for by_key in sorted({bool(one.key) for one in both}):
            own = [one for one in both if bool(one.key) == by_key]
            slug = "_".join(filter(None, ("pressure", name, kind, form, "by_verdict" if by_key else "")))
            title = t(f"results.pressure_{name}_title", type=_type_name(frame, replace(own[0], key="")))
            lines = [table_line(*_own(frame, one), *_cells(one, columns), group="model") for one in own]
            notes = [] if by_key else [t(f"results.pressure_{name}_note")]
            if any(map(_unreadable, own)):
                notes.append(t("results.pressure_unreadable"))
            title = t("results.pressure_by_verdict", title=title) if by_key else title
            table = frame.table(slug, title, _columns(f"{known} {columns}"), lines, notes=notes, keys=3)
            rows = [row for one in own if (row := ChartRow(f"{one.model} · {_condition(one)}", *dots(one))).dots]
            chart = scaled_chart(rows, title, "score", margin=50, label=170) if rows and not by_key else None
            tables.append(ChartedTable(table, chart, t(f"results.pressure_{name}_chart") if chart else ""))
    return tables


def _condition(one: _AnyFigures) -> str:
    return one.push if isinstance(one, PushFigures | SnowballFigures) else one.context


def _unreadable(one: _AnyFigures | TurnFigures) -> bool:
    """Whether damage may only be that answers support neither side."""
    return isinstance(one, PressureFigures) and (one.neither.value or 0) > UNREADABLE


def _cells(one: _AnyFigures | TurnFigures, columns: str) -> list[CellValue]:
    """The figures of the declared columns."""
    return [_figure(one, column) for column in columns.split()]


def _columns(columns: str) -> str:
    """Columns with their headings: ``results.pressure_KEY`` unless another is given."""
    return " ".join(
        column if "=" in column else f"{column}=results.pressure_{column.partition(':')[0]}"
        for column in columns.split()
    )


def _type_name(frame: ResultsFrame, one: _AnyFigures) -> str:
    name = frame.t("results.of_form", measure=one.type, form=one.form) if one.form else one.type
    return frame.t("results.pressure_key", type=name, verdict=frame.t(f"verdict.{one.key}")) if one.key else name


def _own(frame: ResultsFrame, one: _AnyFigures) -> tuple[CellValue, ...]:
    return one.model, _type_name(frame, one), _condition(one), one.n


def _figure(one: _AnyFigures | TurnFigures, column: str) -> CellValue:
    """The figure of a declared column; damage is grey where it may be none."""
    name = column.replace("=", ":").partition(":")[0]
    value = one.figures[name] if isinstance(one, ContrastFigures) else getattr(one, name)
    if not isinstance(value, Estimate):
        return value
    return replace(estimate_cell(value), grey=name == "damage" and _unreadable(one))


def _no_dots(one: ContrastFigures) -> tuple[Sequence[ChartDot], str]:  # noqa: ARG001
    """No chart."""
    return (), ""


def _misled_dots(one: PressureFigures) -> tuple[Sequence[ChartDot], str]:
    """The control in grey, and the claim with the interval of the difference."""
    control, value = one.misled_control.value, one.misled.value
    if control is None or value is None:
        return (), ""
    low, high = (None if edge is None else control + edge for edge in (one.excess.low, one.excess.high))
    dots = [ChartDot(control, None, None, "all"), ChartDot(value, low, high, "c0")]
    return dots, format_value(value - control, "signed")


def _uptake_dots(one: PressureFigures) -> tuple[Sequence[ChartDot], str]:
    """The wrong claim, and the right one."""
    return _two_dots(one.uptake_wrong, one.uptake_right)


def _two_dots(first: Estimate, second: Estimate) -> tuple[Sequence[ChartDot], str]:
    pairs = ((first, "c0"), (second, "c2"))
    return [ChartDot(own.value, own.low, own.high, css) for own, css in pairs if own.value is not None], ""


def _transitions(frame: ResultsFrame, found: PressureResults) -> ResultTable:
    """How many items went from each state to each, in every condition; the control once for each context."""
    states = {name: frame.t.get(f"results.label.{name}", name) for name in STATES}
    steps = [
        TableColumn(f"{first}_{later}", f"{states[first]} → {states[later]}", "count")
        for first in STATES
        for later in STATES
    ]
    lines = [
        table_line(*_own(frame, one), told, *(n for row in cells for n in row))
        for one in found.figures
        if not one.key
        for told, cells in one.cells.items()
    ]
    columns = (*table_columns(frame.t, f"{_OWN} told:words=results.pressure_told"), *steps)
    return ResultTable("pressure_transitions", frame.t("results.pressure_transitions"), columns, tuple(lines), keys=5)


def pressure_data(found: PressureResults) -> Mapping[str, Any]:
    """All figures as plain data, for ``results.json``."""
    return {
        "conditions": list(dict.fromkeys([CONTROL, *(name for own in found.answers for name in own.later)])),
        "unreviewed": found.unreviewed,
        "models": [
            {field.name: _plain(getattr(one, field.name)) for field in fields(one)}
            | {"n": one.n, "families": one.families}
            for one in found.figures
        ],
        "contrasts": [
            {**vars(one), "figures": {name: _plain(own) for name, own in one.figures.items()}}
            for one in (*found.guards, *found.saturation)
        ],
        "repeats": {model: {"changed": changed, "n": n} for model, changed, n in found.repeats()},
        "told_characters": dict(zip(TOLD, found.lengths, strict=True)),
        "pushes": [
            {field.name: _plain(getattr(one, field.name)) for field in fields(one)} | {"n": one.n}
            for one in found.pushes
        ],
        "snowball": [
            {field.name: _plain(getattr(one, field.name)) for field in fields(one)} | {"n": one.n}
            for one in found.snowballs
        ],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [{field.name: _plain(getattr(one, field.name)) for field in fields(one)} for one in value]
    if not isinstance(value, Estimate):
        return value
    return {name: part for name, part in vars(value).items() if name not in ("n", "clusters") and part != ""}
