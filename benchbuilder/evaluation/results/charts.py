"""Charts of results as inline SVG, in the style of the report: about 420 units wide, coloured by the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, sqrt
from typing import NamedTuple

from markupsafe import Markup

from benchbuilder.evaluation.results.compare import AspectPair
from benchbuilder.exporters import (
    CHART_WIDTH,
    ResultTable,
    ValueFormat,
    format_value,
    shorten_label,
    svg_element,
    width_of,
)

_ROW = 24.0
_LABEL = 112.0
_VALUE = 46.0
_SIDE = 300.0
_LEFT = 44.0
_CELLS = 20
_LINE = 13.0
_WIDE = 110.0
_GROUP = {"model": "c0", "people": "c2", "rule": "all"}


@dataclass(frozen=True)
class ChartDot:
    """A value on a line of a chart, with its interval and CSS class."""

    value: float
    low: float | None
    high: float | None
    css: str


def means_chart(table: ResultTable, column: int = 1) -> Markup:
    """The means of a table's own lines with their intervals."""
    rows = [
        (line.cells[0].words, [ChartDot(c.value, c.low, c.high, _GROUP.get(line.group, "all"))])
        for line in table.lines
        if line.block == "own" and (c := line.cells[column]).value is not None
    ]
    return dot_chart(rows, table.title, table.columns[column].format, values=True)


def types_chart(table: ResultTable, colours: Sequence[str]) -> Markup:
    """The means of each type, side by side on one line per system; `colours` are the CSS classes of the types."""
    rows = [
        (
            line.cells[0].words,
            [
                ChartDot(cell.value, cell.low, cell.high, css)
                for cell, css in zip(line.cells[1:], colours, strict=False)
                if cell.value is not None
            ],
        )
        for line in table.lines
    ]
    return dot_chart(rows, table.title, "score", values=False)


def dot_chart(rows: Sequence[tuple[str, Sequence[ChartDot]]], title: str, form: ValueFormat, *, values: bool) -> Markup:
    """One line per row with its dots and their intervals on a shared scale; `values` adds the first value as text."""
    spans = [edge for _, found in rows for d in found for edge in (d.value, d.low, d.high) if edge is not None]
    low, high = min([0.0, *spans]), max([1.0, *spans])
    shown = [format_value(found[0].value, form) for _, found in rows if found] if values else []
    room = CHART_WIDTH - _LABEL - 14 - (max([_VALUE, *(width_of(text) + 10 for text in shown)]) if values else 6)

    def x(value: float) -> float:
        return _LABEL + 10 + (value - low) / (high - low) * room

    bottom = len(rows) * _ROW + 6
    drawn = [svg_element("line", x1=x(v), x2=x(v), y1=2.0, y2=bottom, class_="grid") for v in _scale(low, high)]
    for index, (label, found) in enumerate(rows):
        y = index * _ROW + 4 + _ROW / 2
        drawn.append(
            svg_element("text", shorten_label(label, _LABEL), x=_LABEL, y=y + 4, text_anchor="end", class_="t")
        )
        if len(found) > 1:
            ends = [x(d.value) for d in found]
            drawn.append(svg_element("line", x1=min(ends), x2=max(ends), y1=y, y2=y, class_="link"))
        step = 5.0 if len(found) > 1 else 0.0
        for place, dot in enumerate(found):
            shift = (place - (len(found) - 1) / 2) * step
            if dot.low is not None and dot.high is not None:
                whisker = {"x1": x(dot.low), "x2": x(dot.high), "y1": y + shift, "y2": y + shift}
                drawn.append(svg_element("line", class_=f"{dot.css} whisker", **whisker))
            drawn.append(svg_element("circle", cx=x(dot.value), cy=y + shift, r=4.5, class_=dot.css))
        if values and found:
            drawn.append(
                svg_element(
                    "text",
                    format_value(found[0].value, form),
                    x=float(CHART_WIDTH),
                    y=y + 4,
                    text_anchor="end",
                    class_="t v",
                )
            )
    drawn += [
        svg_element("text", _edge(v, form), x=x(v), y=bottom + 14, text_anchor="middle", class_="t s")
        for v in _scale(low, high)
    ]
    return _picture(bottom + 20, title, drawn)


def _scale(low: float, high: float) -> list[float]:
    return [low + (high - low) * part / 4 for part in range(5)]


def _edge(value: float, form: ValueFormat) -> str:
    return f"{value * 100:.0f} %" if form == "percent" else f"{value:.2f}".rstrip("0").rstrip(".")


def aspect_scatter(pair: AspectPair, first: str, second: str, title: str) -> Markup:
    """Two aspects against each other from 0 to 1: answers as a shaded grid, models as dots with their names."""
    top = 8.0
    width = _SIDE / _CELLS

    def x(value: float) -> float:
        return _LEFT + value * _SIDE

    def y(value: float) -> float:
        return top + (1 - value) * _SIDE

    cells = Counter((_cell(point.first), _cell(point.second)) for point in pair.answers)
    most = max(cells.values(), default=1)
    drawn = [
        svg_element("rect", x=x(column / _CELLS), y=y((row + 1) / _CELLS), width=width, height=width, class_="c0 heat",
            fill_opacity=f"{0.08 + 0.5 * sqrt(n / most):.2f}")
        for (column, row), n in sorted(cells.items())
    ]  # fmt: skip
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        css = "base" if value == 0 else "grid"
        drawn += [
            svg_element("line", x1=x(0), x2=x(1), y1=y(value), y2=y(value), class_=css),
            svg_element("line", x1=x(value), x2=x(value), y1=y(0), y2=y(1), class_=css),
            svg_element("text", f"{value:g}", x=_LEFT - 6, y=y(value) + 4, text_anchor="end", class_="t s"),
            svg_element("text", f"{value:g}", x=x(value), y=y(0) + 16, text_anchor="middle", class_="t s"),
        ]
    drawn.append(svg_element("text", first, x=x(0.5), y=y(0) + 34, text_anchor="middle", class_="t s"))
    drawn.append(
        svg_element(
            "text", second, x=12.0, y=y(0.5), text_anchor="middle", class_="t s", transform=f"rotate(-90 12 {y(0.5)})"
        )
    )
    return _picture(top + _SIDE + 42, title, [*drawn, *_labels(pair, x, y)])


def _cell(value: float) -> int:
    return min(_CELLS - 1, max(0, floor(value * _CELLS)))


def _labels(pair: AspectPair, x: Callable[[float], float], y: Callable[[float], float]) -> list[Markup]:
    """A dot per model, and its name at the place with the least overlap."""
    points = sorted(pair.models, key=lambda one: (-one.second, one.name))
    taken = [_Box(x(p.first) - 6, y(p.second) - 6, x(p.first) + 6, y(p.second) + 6) for p in points]
    drawn = [svg_element("circle", cx=x(p.first), cy=y(p.second), r=5.0, class_="c1 ring") for p in points]
    for point in points:
        name = shorten_label(point.name, _WIDE)
        places = _around(x(point.first), y(point.second), width_of(name) * 1.05)
        box, place, anchor = min(places, key=lambda one: sum(one[0].overlap(other) for other in taken))
        taken.append(box)
        drawn.append(svg_element("text", name, x=place, y=box.bottom - 3, text_anchor=anchor, class_="t v halo"))
    return drawn


class _Box(NamedTuple):
    """The rectangle of a dot or a name."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        """The area that the other box covers, plus a penalty outside the chart."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        outside = max(0.0, self.right - CHART_WIDTH) + max(0.0, _LEFT - self.left)
        return max(0.0, width) * max(0.0, height) + outside * _LINE


def _around(x: float, y: float, width: float) -> list[tuple[_Box, float, str]]:
    """Possible places of a name beside its dot, best first: its box, x position and text anchor."""
    found: list[tuple[_Box, float, str]] = []
    for middle in (y, y + 9, y - 9, y + 18, y - 18):
        top, bottom = middle - _LINE / 2, middle + _LINE / 2
        found.append((_Box(x + 8, top, x + 8 + width, bottom), x + 8, "start"))
        found.append((_Box(x - 8 - width, top, x - 8, bottom), x - 8, "end"))
    return found


def _picture(height: float, title: str, drawn: Sequence[Markup]) -> Markup:
    return svg_element(
        "svg",
        svg_element("title", title),
        *drawn,
        class_="chart",
        role="img",
        viewBox=f"0 0 {CHART_WIDTH} {height:.0f}",
    )
