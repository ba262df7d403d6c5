"""Items and models on one scale, and how well the items measure along it, as inline SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor

import numpy as np
from markupsafe import Markup

from benchbuilder.core import Floats
from benchbuilder.exporters import CHART_WIDTH, axis_ticks, chart_picture, svg_element

_LEFT, _RIGHT = 48.0, CHART_WIDTH - 6.0
_UP, _DOWN, _HEAD, _AXIS = 120.0, 70.0, 18.0, 22.0
_PER_LOGIT = 2
_CURVE = 150.0


def scale_chart(items: Floats, models: Floats, title: str, labels: tuple[str, str, str]) -> Markup:
    """How many items are how hard, upward, and how many models are how able, downward, on one scale in logits.

    `labels` name the items, the models and the scale.
    """
    both = np.concatenate([items, models])
    low, high = floor(float(both.min())), max(ceil(float(both.max())), floor(float(both.min())) + 1)
    width = (_RIGHT - _LEFT) / ((high - low) * _PER_LOGIT)
    drawn: list[Markup] = []
    zero, below = _HEAD + _UP, _HEAD + _UP + _AXIS
    for values, css, room, up in ((items, "c0", _UP, True), (models, "c1", _DOWN, False)):
        bins = np.clip(np.floor((values - low) * _PER_LOGIT), 0, (high - low) * _PER_LOGIT - 1).astype(int)
        counts = Counter(bins.tolist())
        scale = axis_ticks(max(counts.values()), 2)
        for tick in scale[1:]:
            y = zero - tick / scale[-1] * room if up else below + tick / scale[-1] * room
            drawn.append(svg_element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="grid"))
            drawn.append(svg_element("text", f"{tick:g}", x=_LEFT - 6, y=y + 4, text_anchor="end", class_="t s"))
        for place, n in sorted(counts.items()):
            size = n / scale[-1] * room
            drawn.append(svg_element("rect", x=_LEFT + place * width, y=zero - size if up else below, width=width - 1,
                                     height=size, class_=css))  # fmt: skip
    for logit in range(low, high + 1):
        x = _LEFT + (logit - low) * _PER_LOGIT * width
        text = f"{logit:g}".replace("-", "\N{MINUS SIGN}")
        drawn.append(svg_element("text", text, x=x, y=zero + 15, text_anchor="middle", class_="t s"))
    drawn += [svg_element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="base") for y in (zero, below)]
    drawn += [
        svg_element("text", labels[0], x=_LEFT, y=11.0, class_="t v"),
        svg_element("text", labels[1], x=_LEFT, y=below + _DOWN + 17, class_="t v"),
        svg_element("text", labels[2], x=_RIGHT, y=below + _DOWN + 17, text_anchor="end", class_="t s"),
    ]
    return chart_picture(below + _DOWN + 24, title, *drawn)


def curve_chart(x: Sequence[float], y: Sequence[float], title: str, axis: str) -> Markup:
    """A line through points on a scale from 0; `axis` names the horizontal one."""
    most = max(y) * 1.05
    low, high = min(x), max(x)
    step = next(step for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10) if most / step <= 5 or step == 10)
    bottom = _HEAD + _CURVE

    def at(one: float, other: float) -> tuple[float, float]:
        return _LEFT + (one - low) / (high - low) * (_RIGHT - _LEFT), bottom - other / most * _CURVE

    drawn: list[Markup] = []
    for number in range(floor(most / step) + 1):
        level = at(low, number * step)[1]
        css = "grid" if number else "base"
        drawn.append(svg_element("line", x1=_LEFT, x2=_RIGHT, y1=level, y2=level, class_=css))
        drawn.append(
            svg_element("text", f"{number * step:g}", x=_LEFT - 6, y=level + 4, text_anchor="end", class_="t s")
        )
    for tick in range(ceil(low), floor(high) + 1):
        text = f"{tick:g}".replace("-", "\N{MINUS SIGN}")
        drawn.append(svg_element("text", text, x=at(tick, 0)[0], y=bottom + 15, text_anchor="middle", class_="t s"))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(at, x, y))
    drawn.append(svg_element("polyline", points=points, class_="c0 curve"))
    middle = (_LEFT + _RIGHT) / 2
    drawn.append(svg_element("text", axis, x=middle, y=bottom + 34, text_anchor="middle", class_="t s"))
    return chart_picture(bottom + 40, title, *drawn)
