"""Draws charts as inline SVG, 420 units wide; the style sheet of the page colours them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.core import split_characters

CHART_WIDTH = 420
_ROW = 26
_PLOT = 150
_LEFT = 40
_GAP = 0.22


@dataclass(frozen=True)
class Bar:
    """One bar: its `label`, `value`, the `display` form of the value, and the CSS class that colours it."""

    label: str
    value: float
    display: str
    css: str


@dataclass(frozen=True)
class Series:
    """One layer of stacked columns: a value per column."""

    label: str
    css: str
    values: Sequence[float]


def svg_element(name: str, *children: Markup | str, **attributes: str | float) -> Markup:
    """An SVG element; texts and attribute values are escaped, ``_`` in names of attributes becomes ``-``.

    >>> svg_element("text", "a < b", text_anchor="end", x=1.50)
    Markup('<text text-anchor="end" x="1.5">a &lt; b</text>')
    """
    values = (
        (key.rstrip("_").replace("_", "-"), _plain(value) if isinstance(value, float) else value)
        for key, value in attributes.items()
    )
    opened = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in values)
    return Markup("<{}{}>{}</{}>").format(name, opened, Markup("").join(children), name)


def _plain(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def width_of(text: str) -> float:
    """Rough width of `text` at 12 px: wide characters count double, marks on letters nothing."""
    seen = (char for char in text if char.isascii() or unicodedata.category(char) not in ("Mn", "Me", "Cf"))
    return sum(12.0 if unicodedata.east_asian_width(char) in "WF" else 6.8 for char in seen)


def shorten_label(text: str, width: float) -> str:
    """`text`, cut with an ellipsis if it is wider than `width` at 12 px."""
    if width_of(text) <= width:
        return text
    kept = split_characters(text)
    while kept and width_of("".join(kept)) > width - 9:
        kept.pop()
    return f"{''.join(kept)}…"


def axis_ticks(top: float, count: int = 4) -> list[float]:
    """Round values from 0 up to at least `top`, some `count` steps of equal size; whole numbers throughout.

    >>> axis_ticks(87)
    [0, 25, 50, 75, 100]
    """
    raw = max(top, 1.0) / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    step = max(1, math.ceil(step))
    return [step * index for index in range(math.ceil(max(top, 1.0) / step) + 1)]


def chart_picture(height: float, title: str, *children: Markup) -> Markup:
    """A chart with a title for screen readers."""
    return svg_element(
        "svg",
        svg_element("title", title),
        *children,
        class_="chart",
        role="img",
        viewBox=f"0 0 {CHART_WIDTH} {_plain(height)}",
    )


def bar_chart(rows: Sequence[Bar], title: str, label_width: float = 104) -> Markup:
    """Horizontal bars from zero, each with its label on the left and its value on the right."""
    room = CHART_WIDTH - label_width - 8 - max((width_of(row.display) for row in rows), default=0) - 10
    top = max((row.value for row in rows), default=0) or 1
    drawn: list[Markup] = []
    for index, row in enumerate(rows):
        y, length = index * _ROW + 4.0, max(row.value / top * room, 1.0)
        drawn += [
            svg_element(
                "text", shorten_label(row.label, label_width), x=label_width, y=y + 13, text_anchor="end", class_="t"
            ),
            svg_element("rect", x=label_width + 8, y=y, width=length, height=18.0, rx=2.0, class_=row.css),
            svg_element("text", row.display, x=label_width + 14 + length, y=y + 13, class_="t v"),
        ]
    return chart_picture(len(rows) * _ROW + 4, title, *drawn)


def column_chart(
    labels: Sequence[str], layers: Sequence[Series], title: str, *, axis: str, totals: bool = False, marked: int = -1
) -> Markup:
    """Stacked columns from zero.

    Args:
        labels: The labels of the columns.
        layers: The series, from the bottom up.
        title: The title, for screen readers.
        axis: The title of the axis.
        totals: Whether to write the sum of each column on top.
        marked: The column that is highlighted; -1 highlights none.
    """
    sums = [sum(layer.values[index] for layer in layers) for index in range(len(labels))]
    scale = axis_ticks(max(sums, default=0))
    head = 22.0
    pitch = (CHART_WIDTH - _LEFT - 4) / max(len(labels), 1)
    drawn = [_grid(value, head + _PLOT * (1 - value / scale[-1])) for value in scale[1:]]
    for index in range(len(labels)):
        x, y = _LEFT + pitch * index + pitch * _GAP / 2, head + _PLOT
        pale = " pale" if marked not in (-1, index) else ""
        for layer in layers:
            height = layer.values[index] / scale[-1] * _PLOT
            y -= height
            if height > 0:
                drawn.append(
                    svg_element(
                        "rect", x=x, y=y, width=pitch * (1 - _GAP), height=height, class_=f"{layer.css}{pale} edge"
                    )
                )
        if totals:
            middle = x + pitch * (1 - _GAP) / 2
            drawn.append(
                svg_element("text", f"{sums[index]:,.0f}", x=middle, y=y - 5, text_anchor="middle", class_="t v")
            )
    drawn.append(_grid(0, head + _PLOT))
    drawn += _axis(labels, pitch, head + _PLOT, axis, marked)
    return chart_picture(head + _PLOT + 40, title, *drawn)


def _grid(value: float, y: float) -> Markup:
    line = svg_element(
        "line", x1=float(_LEFT), x2=float(CHART_WIDTH), y1=y, y2=y, class_="base" if value == 0 else "grid"
    )
    return line + svg_element("text", f"{value:,.0f}", x=_LEFT - 6.0, y=y + 4, text_anchor="end", class_="t s")


def _axis(labels: Sequence[str], pitch: float, y: float, axis: str, marked: int) -> list[Markup]:
    widest = max((width_of(label) for label in labels), default=0) + 6
    every = max(1, math.ceil(widest / pitch))
    drawn = [
        svg_element("text", label, x=_LEFT + pitch * (index + 0.5), y=y + 16, text_anchor="middle",
            class_="t v" if index == marked else "t s")
        for index, label in enumerate(labels)
        if index % every == 0 or index == marked
    ]  # fmt: skip
    return [
        *drawn,
        svg_element("text", axis, x=(_LEFT + CHART_WIDTH) / 2, y=y + 35, text_anchor="middle", class_="t s"),
    ]


def ribbon_chart(parts: Sequence[tuple[float, str]], whole: float, title: str) -> Markup:
    """One thin bar of `parts` (value, CSS class) on a track of length `whole`; stretches to its container."""
    x, drawn = 0.0, [svg_element("title", title)]
    for value, css in parts:
        width = value / whole * 100 if whole else 0.0
        if value:
            drawn.append(svg_element("rect", x=f"{x:.3f}", y=0, width=f"{max(width, 0.4):.3f}", height=10, class_=css))
        x += width
    return svg_element("svg", *drawn, class_="ribbon", role="img", viewBox="0 0 100 10", preserveAspectRatio="none")
