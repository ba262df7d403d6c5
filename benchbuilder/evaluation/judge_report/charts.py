"""Plots of the judge report as inline SVG: scores against human scores, reliability, and the effect of each probe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from math import ceil, floor

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.evaluation.judge_report.held_out import THRESHOLD, HeldOutAnswers
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding
from benchbuilder.evaluation.results.charts import UnitSquare
from benchbuilder.exporters import ChartDot, ChartRow, ResultTable, format_value, row_chart, svg_element

_SQUARE = UnitSquare(320.0, 48.0)
_POINTS = 1200
_ROW, _LABEL = 26.0, 186.0
_LEAST_SPAN = 0.2


def _diagonal() -> Markup:
    x, y = _SQUARE.x, _SQUARE.y
    return svg_element("line", x1=x(0), x2=x(1), y1=y(0), y2=y(1), class_="diagonal")


def judge_scatter(answers: HeldOutAnswers, title: str, t: PageTexts) -> Markup:
    """The judge's score of each answer over its human score; a sample of the answers if there are very many.

    Lines mark the threshold and equal scores.
    """
    points = list(zip(answers.names(), answers.targets, answers.predicted, strict=True))
    if len(points) > _POINTS:
        points = sorted(points, key=lambda point: hashlib.blake2b(point[0].encode()).digest())[:_POINTS]
    opacity = f"{max(0.18, min(0.7, 40 / max(len(points), 1))):.2f}"
    x, y = _SQUARE.x, _SQUARE.y
    dots = [
        svg_element("circle", cx=x(float(human)), cy=y(float(score)), r=3.2, class_="c0 point", fill_opacity=opacity)
        for _, human, score in points
    ]
    axes = _SQUARE.axes(t("judges.axis.people"), t("judges.axis.judge"), THRESHOLD)
    return _SQUARE.picture(title, [*axes, _diagonal(), *dots])


def reliability_chart(table: ResultTable, judge: str, title: str, t: PageTexts) -> Markup:
    """The bins of one judge: proportion of good answers, with its interval, over the mean score."""
    keys = [column.key for column in table.columns]
    places = [keys.index(name) for name in ("n", "mean_predicted", "proportion_positive")]
    bins = [[line.cells[place] for place in places] for line in table.lines if line.cells[0].words == judge]
    most = max((count.value or 0 for count, _, _ in bins), default=1) or 1
    path: list[str] = []
    dots: list[Markup] = []
    for count, mean, proportion in bins:
        if mean.value is None or proportion.value is None:
            continue
        x, y = _SQUARE.x(mean.value), _SQUARE.y(proportion.value)
        path.append(f"{x:.1f},{y:.1f}")
        if proportion.low is not None and proportion.high is not None:
            ends = {"y1": _SQUARE.y(proportion.low), "y2": _SQUARE.y(proportion.high)}
            dots.append(svg_element("line", x1=x, x2=x, class_="c0 whisker", **ends))
        dots.append(svg_element("circle", cx=x, cy=y, r=2.5 + 4 * ((count.value or 0) / most) ** 0.5, class_="c0"))
    axes = _SQUARE.axes(t("judges.axis.judge"), t("judges.axis.proportion"))
    trend = svg_element("polyline", points=" ".join(path), class_="c0 trend")
    return _SQUARE.picture(title, [*axes, _diagonal(), trend, *dots])


def correlation_chart(table: ResultTable, title: str) -> Markup:
    """Pearson's correlation of each line with its interval; published figures are hollow dots."""
    at = [column.key for column in table.columns].index("pearson")
    rows: list[ChartRow] = []
    for line in table.lines:
        cell, own = line.cells[at], line.block == "own"
        if cell.value is not None:
            dot = ChartDot(cell.value, cell.low, cell.high, "c0" if own else "hollow")
            text = format_value(cell.value, "score")
            rows.append(ChartRow(line.cells[0].words, [dot], text, secondary=not own))
    least = min((edge for row in rows for d in row.dots for edge in (d.value, d.low) if edge is not None), default=0.0)
    low = min(0.0, floor(least * 4) / 4)
    values = [low + step / 4 for step in range(round((1 - low) * 4) + 1)]
    return _row_chart(rows, title, {value: f"{value:g}" for value in values}, margin=46)


def forest_chart(findings: Sequence[ProbeFinding], label: Callable[[ProbeFinding], str], title: str) -> Markup:
    """The mean change under each probe, with its interval, around zero; coloured by verdict."""
    rows = [
        ChartRow(label(f), [ChartDot(f.delta.value, f.delta.low, f.delta.high, f"v-{f.verdict}")])
        for f in findings
        if f.delta.value is not None
    ]
    edges = [abs(edge) for row in rows for d in row.dots for edge in (d.value, d.low, d.high) if edge]
    reach = min(1.0, ceil(max([_LEAST_SPAN, *edges]) * 10 - 1e-9) / 10)
    values = (-reach, -reach / 2, 0.0, reach / 2, reach)
    return _row_chart(rows, title, {value: f"{value:+.2f}" if value else "0" for value in values}, margin=10)


def _row_chart(rows: Sequence[ChartRow], title: str, ticks: dict[float, str], *, margin: float) -> Markup:
    texts = {value: text.replace("-", "\N{MINUS SIGN}") for value, text in ticks.items()}
    return row_chart(rows, title, texts, margin=margin, label=_LABEL, height=_ROW, zero="base")
