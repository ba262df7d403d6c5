"""Draws rows of dots with their intervals on a shared scale, as inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.exporters.render.svg import CHART_WIDTH, chart_picture, shorten_label, svg_element

_ROW = 24.0
_LABEL = 112.0


@dataclass(frozen=True)
class ChartDot:
    """A value on a line of a chart, with its interval and CSS class."""

    value: float
    low: float | None
    high: float | None
    css: str


@dataclass(frozen=True)
class ChartRow:
    """A line of a chart: its label, its dots, and the text at its end; secondary lines have smaller texts."""

    label: str
    dots: Sequence[ChartDot]
    text: str = ""
    secondary: bool = False


def row_chart(
    rows: Sequence[ChartRow], title: str, ticks: Mapping[float, str], *, margin: float, label: float = _LABEL,
    height: float = _ROW, zero: str = "grid", limit: float | None = None,
) -> Markup:  # fmt: skip
    """One line per row with its dots and their intervals on a shared scale from the first to the last tick.

    `margin` is the width at the right of the scale, `label` that of the labels, `height` the height of a row, and
    `zero` the CSS class of the line at zero. A dashed line marks a `limit`.
    """
    low, high = min(ticks), max(ticks)
    room, bottom = CHART_WIDTH - label - 10 - margin, len(rows) * height + 6

    def x(value: float) -> float:
        return label + 10 + (min(max(value, low), high) - low) / (high - low) * room

    elements: list[Markup] = []
    for value, text in ticks.items():
        elements.append(
            svg_element("line", x1=x(value), x2=x(value), y1=2.0, y2=bottom, class_="grid" if value else zero)
        )
        elements.append(svg_element("text", text, x=x(value), y=bottom + 14, text_anchor="middle", class_="t s"))
    if limit is not None:
        elements.append(svg_element("line", x1=x(limit), x2=x(limit), y1=2.0, y2=bottom, class_="limit"))
    for index, row in enumerate(rows):
        elements += _drawn_row(row, index * height + 4 + height / 2, label, x)
    return chart_picture(bottom + 20, title, *elements)


def _drawn_row(row: ChartRow, y: float, width: float, x: Callable[[float], float]) -> list[Markup]:
    """The label of a row, its dots with their intervals, a line between several dots, and its text."""
    name = shorten_label(row.label, width)
    css = "t s" if row.secondary else "t"
    elements = [svg_element("text", name, x=width, y=y + 4, text_anchor="end", class_=css)]
    step = 5.0 if len(row.dots) > 1 else 0.0
    if len(row.dots) > 1:
        ends = [x(dot.value) for dot in row.dots]
        elements.append(svg_element("line", x1=min(ends), x2=max(ends), y1=y, y2=y, class_="link"))
    for place, dot in enumerate(row.dots):
        level = y + (place - (len(row.dots) - 1) / 2) * step
        if dot.low is not None and dot.high is not None:
            whisker = {"x1": x(dot.low), "x2": x(dot.high), "y1": level, "y2": level}
            elements.append(svg_element("line", class_=f"{dot.css} whisker", **whisker))
        elements.append(svg_element("circle", cx=x(dot.value), cy=level, r=4.5, class_=dot.css))
    if row.text:
        css = "t s" if row.secondary else "t v"
        elements.append(svg_element("text", row.text, x=float(CHART_WIDTH), y=y + 4, text_anchor="end", class_=css))
    return elements
