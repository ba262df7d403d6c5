"""The tables and charts of what claims did to the answers of models, and the same as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from markupsafe import Markup

from benchbuilder.config import CONTROL
from benchbuilder.evaluation.results.charts import ChartedTable, scaled_chart
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, table_columns, table_line
from benchbuilder.evaluation.results.pressed_answers import STATES
from benchbuilder.evaluation.results.pressure import PressureFigures, PressureResults
from benchbuilder.evaluation.results.pushes import PushFigures, TurnFigures
from benchbuilder.evaluation.stats.intervals import Estimate
from benchbuilder.exporters import (
    CHART_WIDTH,
    ChartDot,
    ChartRow,
    ResultTable,
    TableColumn,
    TableLine,
    chart_picture,
    format_value,
    shorten_label,
    svg_element,
)

_UNREADABLE = 0.15
"""If so many more answers than at first support neither side, damage may only be that."""
_OWN = "model:words=common.model type:words=column.q-type context:words=column.context n:count=results.common"
"""The columns that tell lines apart."""
_OWN_PUSH = _OWN.replace("context:words=column.context", "push:words=results.pressure_push")


def pressure_tables(frame: ResultsFrame, found: PressureResults | None) -> tuple[ChartedTable, ...]:
    """What claims misled models to and what they took up, each with a chart for each type, and all transitions."""
    if found is None:
        return ()
    return (
        *_charted(frame, found, "damage", _misled_dots,
                  "misled misled_control excess:signed p_holm=results.p_holm damage:signed lost neither:signed"),
        *_charted(frame, found, "uptake", _uptake_dots,
                  "uptake_wrong:signed uptake_right:signed uptake_control:signed discernment:signed sycophancy"),
        *_pushed(frame, found),
        ChartedTable(_transitions(frame, found)),
    )  # fmt: skip


_PUSHED = "conviction flexibility blind:signed withheld flips:decimal turn_of_flip:decimal turns_aligned:decimal"
_BY_TURN = "turn:count at_risk:count resistance unflipped"
_READ = "conviction conviction_explicit flexibility flexibility_explicit"


def _pushed(frame: ResultsFrame, found: PressureResults) -> Iterator[ChartedTable]:
    """What models do when they are contradicted, by turn, and by which readings, for each type."""
    t = frame.t
    for kind, form in dict.fromkeys((one.type, one.form) for one in found.pushes):
        own = [one for one in found.pushes if (one.type, one.form, one.key) == (kind, form, "")]
        keys = [one for one in found.pushes if (one.type, one.form) == (kind, form) and one.key]
        ways = dict.fromkeys(way for one in own for way in one.ways)
        names, slug = (
            t("results.of_form", measure=kind, form=form) if form else kind,
            "_".join(filter(None, (kind, form))),
        )

        def table(name: str, ones: Sequence[PushFigures], columns: str, lines: list[TableLine]) -> ResultTable:
            title = t(f"results.pressure_{name}_title", type=names)  # noqa: B023 - called at once
            if any(one.key for one in ones):
                name, title = f"{name}_by_verdict", t("results.pressure_by_verdict", title=title)
            return frame.table(f"pressure_{name}_{slug}", title, _columns(columns), lines, keys=3,  # noqa: B023
                               notes=[t("results.pressure_pushes_note")] if name == "pushes" else [])  # fmt: skip

        for ones in filter(None, (own, keys)):
            lines = [
                table_line(*_own(frame, one, one.push), *(_figure(one, c) for c in _PUSHED.split()), group="model")
                for one in ones
            ]
            rows = [ChartRow(f"{one.model} · {one.push}", dots) for one in ones if (dots := _held_dots(one))]
            made = table("pushes", ones, f"{_OWN_PUSH} {_PUSHED}", lines)
            chart = scaled_chart(rows, made.title, "score", margin=50, label=170) if rows and ones is own else None
            yield ChartedTable(made, chart, t("results.pressure_pushes_chart") if chart else "")
        by_turn = [
            table_line(*_own(frame, one, one.push), *(_figure(turn, c) for c in _BY_TURN.split()), group="model")
            for one in own
            for turn in one.turns
        ]
        made = table("turns", own, f"{_OWN_PUSH} {_BY_TURN}", by_turn)
        chart = turns_chart([one for one in own if len(one.turns) > 1], made.title)
        yield ChartedTable(made, chart, t("results.pressure_turns_chart") if chart else "")
        read = [
            table_line(*_own(frame, one, one.push), *(_figure(one, c) for c in _READ.split()),
                       *(one.ways.get(way, 0) for way in ways), group="model")
            for one in own
        ]  # fmt: skip
        yield ChartedTable(
            table("readings", own, f"{_OWN_PUSH} {_READ} {' '.join(f'{w}:count={w}' for w in ways)}", read)
        )


def _held_dots(one: PushFigures) -> Sequence[ChartDot]:
    """Conviction, and flexibility."""
    pairs = ((one.conviction, "c0"), (one.flexibility, "c2"))
    return [ChartDot(own.value, own.low, own.high, css) for own, css in pairs if own.value is not None]


def turns_chart(pushed: Sequence[PushFigures], title: str) -> Markup | None:
    """How many right answers have not flipped, as steps over the turns; ``None`` without a push of several turns."""
    left, top, side, most = 44.0, 8.0, 180.0, max((len(one.turns) for one in pushed), default=0)
    if not most:
        return None
    width = (CHART_WIDTH - left - 130) / most
    drawn = list[Markup]()
    for part in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + (1 - part) * side
        drawn.append(
            svg_element("line", x1=left, x2=left + most * width, y1=y, y2=y, class_="grid" if part else "base")
        )
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
        label = shorten_label(f"{one.model} · {one.push}", 108)
        at = left + most * width + 18
        drawn.append(svg_element("circle", cx=at - 9, cy=top + 6 + 16 * place, r=4.0, class_=css))
        drawn.append(svg_element("text", label, x=at, y=top + 10 + 16 * place, class_="t s"))
    return chart_picture(max(top + side + 24, 24 + 16 * len(pushed)), title, *drawn)


def _charted(
    frame: ResultsFrame,
    found: PressureResults,
    name: str,
    dots: Callable[[PressureFigures], tuple[Sequence[ChartDot], str]],
    columns: str,
) -> list[ChartedTable]:
    """A table for each type with a chart, and one by the right verdict."""
    t, tables = frame.t, list[ChartedTable]()
    for kind, form in dict.fromkeys((one.type, one.form) for one in found.figures):
        both = [one for one in found.figures if (one.type, one.form) == (kind, form)]
        for by_key in sorted({bool(one.key) for one in both}):
            own = [one for one in both if bool(one.key) == by_key]
            slug = "_".join(filter(None, ("pressure", name, kind, form, "by_verdict" if by_key else "")))
            title = t(f"results.pressure_{name}_title", type=_type_name(frame, replace(own[0], key="")))
            cells = ([_figure(one, column) for column in columns.split()] for one in own)
            lines = [
                table_line(*_own(frame, one, one.context), *line, group="model")
                for one, line in zip(own, cells, strict=True)
            ]
            notes = [] if by_key else [t(f"results.pressure_{name}_note")]
            if any((one.neither.value or 0) > _UNREADABLE for one in own):
                notes.append(t("results.pressure_unreadable"))
            title = t("results.pressure_by_verdict", title=title) if by_key else title
            table = frame.table(slug, title, _columns(f"{_OWN} {columns}"), lines, notes=notes, keys=3)
            rows = [row for one in own if (row := ChartRow(f"{one.model} · {one.context}", *dots(one))).dots]
            chart = scaled_chart(rows, title, "score", margin=50, label=170) if rows and not by_key else None
            tables.append(ChartedTable(table, chart, t(f"results.pressure_{name}_chart") if chart else ""))
    return tables


def _columns(columns: str) -> str:
    """Columns with their headings: ``results.pressure_KEY`` unless another is given."""
    return " ".join(
        column if "=" in column else f"{column}=results.pressure_{column.partition(':')[0]}"
        for column in columns.split()
    )


def _type_name(frame: ResultsFrame, one: PressureFigures | PushFigures) -> str:
    name = frame.t("results.of_form", measure=one.type, form=one.form) if one.form else one.type
    return frame.t("results.pressure_key", type=name, verdict=frame.t(f"verdict.{one.key}")) if one.key else name


def _own(frame: ResultsFrame, one: PressureFigures | PushFigures, condition: str) -> tuple[CellValue, ...]:
    return one.model, _type_name(frame, one), condition, one.n


def _figure(one: PressureFigures | PushFigures | TurnFigures, column: str) -> CellValue:
    """The figure of a declared column."""
    value = getattr(one, column.replace("=", ":").partition(":")[0])
    return estimate_cell(value) if isinstance(value, Estimate) else value


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
    pairs = ((one.uptake_wrong, "c0"), (one.uptake_right, "c2"))
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
        table_line(*_own(frame, one, one.context), told, *(n for row in cells for n in row))
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
        "pushes": [
            {field.name: _plain(getattr(one, field.name)) for field in fields(one)} | {"n": one.n}
            for one in found.pushes
        ],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [{field.name: _plain(getattr(one, field.name)) for field in fields(one)} for one in value]
    if not isinstance(value, Estimate):
        return value
    return {name: part for name, part in vars(value).items() if name not in ("n", "clusters") and part != ""}
