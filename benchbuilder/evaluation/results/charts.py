"""Charts of results as inline SVG, in the style of the report: about 420 units wide, coloured by the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, sqrt
from typing import NamedTuple

from markupsafe import Markup

from benchbuilder.evaluation.results.compare import AspectPair
from benchbuilder.exporters import (
    CHART_WIDTH,
    ChartDot,
    ChartRow,
    ResultTable,
    ValueFormat,
    chart_picture,
    format_value,
    row_chart,
    shorten_label,
    svg_element,
    width_of,
)

_VALUE = 46.0
_CELLS = 20
_LINE = 13.0
_WIDE = 110.0
_GROUP = {"model": "c0", "people": "c2", "rule": "all"}


@dataclass(frozen=True)
class ChartedTable:
    """A table with its chart, and what the chart shows."""

    table: ResultTable
    chart: Markup | None = None
    chart_label: str = ""


def means_chart(table: ResultTable, column: int = 1) -> Markup:
    """The means of a table's own lines with their intervals."""
    form = table.columns[column].format
    rows = [
        ChartRow(
            line.cells[0].words,
            [ChartDot(cell.value, cell.low, cell.high, _GROUP.get(line.group, "all"))],
            format_value(cell.value, form),
        )
        for line in table.lines
        if line.block == "own" and (cell := line.cells[column]).value is not None
    ]
    return scaled_chart(rows, table.title, form, margin=max([_VALUE, *(width_of(row.text) + 10 for row in rows)]))


def types_chart(table: ResultTable, colours: Sequence[str]) -> Markup:
    """The means of each type, side by side on one line per system; `colours` are the CSS classes of the types."""
    rows = [
        ChartRow(
            line.cells[0].words,
            [
                ChartDot(cell.value, cell.low, cell.high, css)
                for cell, css in zip(line.cells[1:], colours, strict=False)
                if cell.value is not None
            ],
        )
        for line in table.lines
    ]
    return scaled_chart(rows, table.title, table.columns[1].format, margin=6)


def scaled_chart(
    rows: Sequence[ChartRow], title: str, form: ValueFormat, *, margin: float, label: float = 112.0
) -> Markup:
    """The rows on a scale from 0 to 1, or further if values are outside."""
    edges = [edge for row in rows for d in row.dots for edge in (d.value, d.low, d.high) if edge is not None]
    low, high = min([0.0, *edges]), max([1.0, *edges])
    ticks = {value: _edge(value, form) for value in (low + (high - low) * part / 4 for part in range(5))}
    return row_chart(rows, title, ticks, margin=margin + 4, label=label)


def _edge(value: float, form: ValueFormat) -> str:
    return f"{value * 100:.0f} %" if form == "percent" else f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class UnitSquare:
    """A square chart area from 0 to 1 in both directions."""

    side: float
    left: float
    top: float = 8.0

    def x(self, value: float) -> float:
        """The horizontal position of a value."""
        return self.left + min(max(value, 0.0), 1.0) * self.side

    def y(self, value: float) -> float:
        """The vertical position of a value."""
        return self.top + (1 - min(max(value, 0.0), 1.0)) * self.side

    def picture(self, title: str, drawn: Sequence[Markup]) -> Markup:
        """The chart of these elements, with room for the labels of the horizontal axis."""
        return chart_picture(self.top + self.side + 42, title, *drawn)

    def axes(self, x_label: str, y_label: str, threshold: float | None = None) -> list[Markup]:
        """The grid with its labels; the lines of a `threshold` are marked."""
        x, y = self.x, self.y
        elements: list[Markup] = []
        for value in (0.0, 0.25, 0.5, 0.75, 1.0):
            css = "base" if value == 0 else "border" if value == threshold else "grid"
            elements += [
                svg_element("line", x1=x(0), x2=x(1), y1=y(value), y2=y(value), class_=css),
                svg_element("line", x1=x(value), x2=x(value), y1=y(0), y2=y(1), class_=css),
                svg_element("text", f"{value:g}", x=self.left - 6, y=y(value) + 4, text_anchor="end", class_="t s"),
                svg_element("text", f"{value:g}", x=x(value), y=y(0) + 16, text_anchor="middle", class_="t s"),
            ]
        turned = f"rotate(-90 12 {y(0.5)})"
        return [
            *elements,
            svg_element("text", x_label, x=x(0.5), y=y(0) + 34, text_anchor="middle", class_="t s"),
            svg_element("text", y_label, x=12.0, y=y(0.5), text_anchor="middle", class_="t s", transform=turned),
        ]


_SQUARE = UnitSquare(300.0, 44.0)


def aspect_scatter(pair: AspectPair, first: str, second: str, title: str) -> Markup:
    """Two aspects against each other from 0 to 1: answers as a shaded grid, models as dots with their names."""
    x, y, width = _SQUARE.x, _SQUARE.y, _SQUARE.side / _CELLS
    cells = Counter(zip(map(_cell, pair.answers.first.tolist()), map(_cell, pair.answers.second.tolist()), strict=True))
    most = max(cells.values(), default=1)
    shades = [
        svg_element("rect", x=x(column / _CELLS), y=y((row + 1) / _CELLS), width=width, height=width, class_="c0 heat",
            fill_opacity=f"{0.08 + 0.5 * sqrt(n / most):.2f}")
        for (column, row), n in sorted(cells.items())
    ]  # fmt: skip
    return _SQUARE.picture(title, [*shades, *_SQUARE.axes(first, second), *_labels(pair)])


def _cell(value: float) -> int:
    return min(_CELLS - 1, max(0, floor(value * _CELLS)))


def _labels(pair: AspectPair) -> list[Markup]:
    """A dot per model, and its name at the place with the least overlap."""
    x, y = _SQUARE.x, _SQUARE.y
    points = sorted(pair.models, key=lambda point: (-point.second, point.name))
    taken = [_Box(x(p.first) - 6, y(p.second) - 6, x(p.first) + 6, y(p.second) + 6) for p in points]
    elements = [svg_element("circle", cx=x(p.first), cy=y(p.second), r=5.0, class_="c1 ring") for p in points]
    for point in points:
        name = shorten_label(point.name, _WIDE)
        places = _around(x(point.first), y(point.second), width_of(name) * 1.05)
        box, place, anchor = min(places, key=lambda found: sum(found[0].overlap(other) for other in taken))
        taken.append(box)
        elements.append(svg_element("text", name, x=place, y=box.bottom - 3, text_anchor=anchor, class_="t v halo"))
    return elements


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
        outside = max(0.0, self.right - CHART_WIDTH) + max(0.0, _SQUARE.left - self.left)
        return max(0.0, width) * max(0.0, height) + outside * _LINE


def _around(x: float, y: float, width: float) -> list[tuple[_Box, float, str]]:
    """Possible places of a name beside its dot, best first: its box, x position and text anchor."""
    places: list[tuple[_Box, float, str]] = []
    for middle in (y, y + 9, y - 9, y + 18, y - 18):
        top, bottom = middle - _LINE / 2, middle + _LINE / 2
        places.append((_Box(x + 8, top, x + 8 + width, bottom), x + 8, "start"))
        places.append((_Box(x - 8 - width, top, x - 8, bottom), x - 8, "end"))
    return places
