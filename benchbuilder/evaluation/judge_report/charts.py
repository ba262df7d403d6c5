"""Plots of the judge report as inline SVG: scores against human scores, reliability, and the effect of each probe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from math import ceil, floor

from markupsafe import Markup

from benchbuilder.evaluation.judge_report.held_out import THRESHOLD, HeldOutAnswers
from benchbuilder.evaluation.judge_report.robustness_card import ProbeFinding
from benchbuilder.exporters import CHART_WIDTH, ReportTexts, ResultTable, format_value, shorten_label, svg_element

_SIDE, _LEFT, _TOP = 320.0, 48.0, 8.0
_POINTS = 1200
_ROW, _LABEL = 26.0, 186.0
_LEAST_SPAN = 0.2


def _x(value: float) -> float:
    return _LEFT + min(max(value, 0.0), 1.0) * _SIDE


def _y(value: float) -> float:
    return _TOP + (1 - min(max(value, 0.0), 1.0)) * _SIDE


def judge_scatter(answers: HeldOutAnswers, title: str, t: ReportTexts) -> Markup:
    """The judge's score of each answer over its human score; a sample of the answers if there are very many.

    Lines mark the threshold and equal scores.
    """
    points = list(zip(answers.names(), answers.targets, answers.predicted, strict=True))
    if len(points) > _POINTS:
        points = sorted(points, key=lambda point: hashlib.blake2b(point[0].encode()).digest())[:_POINTS]
    drawn = _square(t("judges.axis.people"), t("judges.axis.judge"), threshold=True)
    opacity = f"{max(0.18, min(0.7, 40 / max(len(points), 1))):.2f}"
    drawn += [
        svg_element("circle", cx=_x(float(human)), cy=_y(float(said)), r=3.2, class_="c0 point", fill_opacity=opacity)
        for _, human, said in points
    ]
    return _picture(_TOP + _SIDE + 42, title, drawn)


def reliability_chart(table: ResultTable, judge: str, title: str, t: ReportTexts) -> Markup:
    """The bins of one judge: proportion of good answers, with its interval, over the mean score."""
    keys = [column.key for column in table.columns]
    at = {name: keys.index(name) for name in ("n", "mean_predicted", "proportion_positive")}
    bins = [line for line in table.lines if line.cells[0].words == judge]
    most = max((line.cells[at["n"]].value or 0 for line in bins), default=1) or 1
    drawn = _square(t("judges.axis.judge"), t("judges.axis.proportion"), threshold=False)
    path: list[str] = []
    for line in bins:
        count, mean, proportion = (line.cells[at[name]] for name in ("n", "mean_predicted", "proportion_positive"))
        if mean.value is None or proportion.value is None:
            continue
        x, y = _x(mean.value), _y(proportion.value)
        path.append(f"{x:.1f},{y:.1f}")
        if proportion.low is not None and proportion.high is not None:
            drawn.append(
                svg_element("line", x1=x, x2=x, y1=_y(proportion.low), y2=_y(proportion.high), class_="c0 whisker")
            )
        radius = 2.5 + 4 * ((count.value or 0) / most) ** 0.5
        drawn.append(svg_element("circle", cx=x, cy=y, r=radius, class_="c0"))
    drawn.insert(-1, svg_element("polyline", points=" ".join(path), class_="c0 trend"))
    return _picture(_TOP + _SIDE + 42, title, drawn)


def _square(x_label: str, y_label: str, *, threshold: bool) -> list[Markup]:
    drawn: list[Markup] = []
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        css = "base" if value == 0 else "border" if threshold and value == THRESHOLD else "grid"
        drawn += [
            svg_element("line", x1=_x(0), x2=_x(1), y1=_y(value), y2=_y(value), class_=css),
            svg_element("line", x1=_x(value), x2=_x(value), y1=_y(0), y2=_y(1), class_=css),
            svg_element("text", f"{value:g}", x=_LEFT - 6, y=_y(value) + 4, text_anchor="end", class_="t s"),
            svg_element("text", f"{value:g}", x=_x(value), y=_y(0) + 16, text_anchor="middle", class_="t s"),
        ]
    middle = _y(0.5)
    return [
        *drawn,
        svg_element("line", x1=_x(0), x2=_x(1), y1=_y(0), y2=_y(1), class_="diagonal"),
        svg_element("text", x_label, x=_x(0.5), y=_y(0) + 34, text_anchor="middle", class_="t s"),
        svg_element(
            "text", y_label, x=12.0, y=middle, text_anchor="middle", class_="t s", transform=f"rotate(-90 12 {middle})"
        ),
    ]


def correlation_chart(table: ResultTable, title: str) -> Markup:
    """Pearson's correlation of each line with its interval; published figures are hollow dots."""
    at = [column.key for column in table.columns].index("pearson")
    rows = [(line, line.cells[at]) for line in table.lines if line.cells[at].value is not None]
    least = min((edge for _, cell in rows for edge in (cell.value, cell.low) if edge is not None), default=0.0)
    low = min(0.0, floor(least * 4) / 4)
    room, bottom = CHART_WIDTH - _LABEL - 56, len(rows) * _ROW + 6

    def x(value: float) -> float:
        return _LABEL + 10 + (value - low) / (1 - low) * room

    drawn: list[Markup] = []
    for step in range(round((1 - low) * 4) + 1):
        value = low + step / 4
        drawn.append(
            svg_element("line", x1=x(value), x2=x(value), y1=2.0, y2=bottom, class_="grid" if value else "base")
        )
        words = f"{value:g}".replace("-", "\N{MINUS SIGN}")
        drawn.append(svg_element("text", words, x=x(value), y=bottom + 14, text_anchor="middle", class_="t s"))
    for index, (line, cell) in enumerate(rows):
        y, ours = index * _ROW + 4 + _ROW / 2, line.block == "own"
        value = cell.value or 0.0
        name = shorten_label(line.cells[0].words, _LABEL)
        drawn.append(svg_element("text", name, x=_LABEL, y=y + 4, text_anchor="end", class_="t" if ours else "t s"))
        if cell.low is not None and cell.high is not None:
            drawn.append(svg_element("line", x1=x(cell.low), x2=x(cell.high), y1=y, y2=y, class_="c0 whisker"))
        drawn.append(svg_element("circle", cx=x(value), cy=y, r=4.5, class_="c0" if ours else "hollow"))
        drawn.append(
            svg_element(
                "text",
                format_value(value, "score"),
                x=float(CHART_WIDTH),
                y=y + 4,
                text_anchor="end",
                class_="t v" if ours else "t s",
            )
        )
    return _picture(bottom + 20, title, drawn)


def forest_chart(findings: Sequence[ProbeFinding], label: Callable[[ProbeFinding], str], title: str) -> Markup:
    """The mean change under each probe, with its interval, around zero; coloured by verdict."""
    shown = [finding for finding in findings if finding.delta.value is not None]
    reach = max(
        [_LEAST_SPAN, *(abs(edge) for f in shown for edge in (f.delta.value, f.delta.low, f.delta.high) if edge)]
    )
    reach = min(1.0, ceil(reach * 10 - 1e-9) / 10)
    room = CHART_WIDTH - _LABEL - 20

    def x(value: float) -> float:
        return _LABEL + 10 + (min(max(value, -reach), reach) + reach) / (2 * reach) * room

    bottom = len(shown) * _ROW + 6
    drawn: list[Markup] = []
    for value in (-reach, -reach / 2, 0.0, reach / 2, reach):
        drawn.append(
            svg_element("line", x1=x(value), x2=x(value), y1=2.0, y2=bottom, class_="grid" if value else "base")
        )
        words = f"{value:+.2f}".replace("-", "\N{MINUS SIGN}") if value else "0"
        drawn.append(svg_element("text", words, x=x(value), y=bottom + 14, text_anchor="middle", class_="t s"))
    for index, finding in enumerate(shown):
        y, css = index * _ROW + 4 + _ROW / 2, f"v-{finding.verdict}"
        delta = finding.delta
        drawn.append(
            svg_element("text", shorten_label(label(finding), _LABEL), x=_LABEL, y=y + 4, text_anchor="end", class_="t")
        )
        if delta.low is not None and delta.high is not None:
            drawn.append(svg_element("line", x1=x(delta.low), x2=x(delta.high), y1=y, y2=y, class_=f"{css} whisker"))
        drawn.append(svg_element("circle", cx=x(delta.value or 0.0), cy=y, r=4.5, class_=css))
    return _picture(bottom + 20, title, drawn)


def _picture(height: float, title: str, drawn: Sequence[Markup]) -> Markup:
    return svg_element(
        "svg",
        svg_element("title", title),
        *drawn,
        class_="chart",
        role="img",
        viewBox=f"0 0 {CHART_WIDTH} {height:.0f}",
    )
