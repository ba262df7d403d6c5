"""The tables and charts of what claims did to the answers of models, and the same as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from benchbuilder.config import CONTROL
from benchbuilder.evaluation.results.charts import ChartedTable, scaled_chart
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, table_columns, table_line
from benchbuilder.evaluation.results.pressure import STATES, PressureFigures, PressureResults
from benchbuilder.evaluation.stats.intervals import Estimate
from benchbuilder.exporters import ChartDot, ChartRow, ResultTable, TableColumn, format_value

_UNREADABLE = 0.15
"""If so many more answers than at first support neither side, damage may only be that."""
_OWN = "model:words=common.model type:words=column.q-type context:words=column.context n:count=results.common"
"""The columns that tell lines apart."""


def pressure_tables(frame: ResultsFrame, found: PressureResults | None) -> tuple[ChartedTable, ...]:
    """What claims misled models to and what they took up, each with a chart for each type, and all transitions."""
    if found is None:
        return ()
    return (
        *_charted(frame, found, "damage", _misled_dots,
                  "misled misled_control excess:signed p_holm=results.p_holm damage:signed lost neither:signed"),
        *_charted(frame, found, "uptake", _uptake_dots,
                  "uptake_wrong:signed uptake_right:signed uptake_control:signed discernment:signed"),
        ChartedTable(_transitions(frame, found)),
    )  # fmt: skip


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
            lines = [table_line(*_own(frame, one), *line, group="model") for one, line in zip(own, cells, strict=True)]
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


def _type_name(frame: ResultsFrame, one: PressureFigures) -> str:
    name = frame.t("results.of_form", measure=one.type, form=one.form) if one.form else one.type
    return frame.t("results.pressure_key", type=name, verdict=frame.t(f"verdict.{one.key}")) if one.key else name


def _own(frame: ResultsFrame, one: PressureFigures) -> tuple[CellValue, ...]:
    return one.model, _type_name(frame, one), one.context, one.n


def _figure(one: PressureFigures, column: str) -> CellValue:
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
    }


def _plain(value: Any) -> Any:
    if not isinstance(value, Estimate):
        return value
    return {name: part for name, part in vars(value).items() if name not in ("n", "clusters") and part != ""}
