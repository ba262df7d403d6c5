"""Draws horizontal bars that are divided into parts, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.exporters.render.svg import CHART_WIDTH, chart_picture, shorten_label, svg_element, width_of

_ROW = 24.0
_BAR = 16.0
_LABEL = 112.0
_PERCENT = (0, 25, 50, 75, 100)


@dataclass(frozen=True)
class StackedRow:
    """One bar: its label, its parts (value, CSS class) from the left, and the text at its end."""

    label: str
    parts: Sequence[tuple[float, str]]
    text: str = ""


def stacked_bar_chart(rows: Sequence[StackedRow], title: str, *, label: float = _LABEL) -> Markup:
    """One bar of full length for each row, divided in proportion to its parts, on a scale of per cent."""
    left, margin = label + 8, max((width_of(row.text) for row in rows), default=0.0) + 10
    room, bottom = CHART_WIDTH - left - margin, len(rows) * _ROW + 4
    drawn: list[Markup] = []
    for percent in _PERCENT:
        x = left + room * percent / 100
        drawn.append(svg_element("line", x1=x, x2=x, y1=2.0, y2=bottom, class_="grid" if percent else "base"))
        drawn.append(svg_element("text", f"{percent} %", x=x, y=bottom + 14, text_anchor="middle", class_="t s"))
    for index, row in enumerate(rows):
        y, x, whole = index * _ROW + 4, left, sum(value for value, _ in row.parts)
        name = shorten_label(row.label, label)
        drawn.append(svg_element("text", name, x=label, y=y + 12, text_anchor="end", class_="t"))
        for value, css in row.parts:
            width = value / whole * room if whole else 0.0
            if width:
                drawn.append(svg_element("rect", x=x, y=y, width=width, height=_BAR, class_=f"{css} edge"))
            x += width
        drawn.append(svg_element("text", row.text, x=float(CHART_WIDTH), y=y + 12, text_anchor="end", class_="t v"))
    return chart_picture(bottom + 20, title, *drawn)
