"""Charts of items as inline SVG: the map of difficulty and correlation, and the scale of difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, cos, floor, hypot, log1p, pi, sin

import numpy as np
from markupsafe import Markup

from benchbuilder.core import Floats
from benchbuilder.evaluation.analysis.answered import Bools
from benchbuilder.exporters import CHART_WIDTH, axis_ticks, chart_picture, svg_element

_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP, _MARGIN = 60.0, 52.0, 292.0, 272.0, 8.0, 56.0
_STRIP = 12.0
_MOST_COLUMNS, _ROWS = 24, 24
_MOST_DOTS = 400
"""With more items, dots would hide each other: cells say how many items they hold."""
_NAMED = 10
_DOT, _BADGE = 4.6, 8.0
_PERCENT = (0, 25, 50, 75, 100)
_DISTANCES, _ANGLES = (14.0, 22.0, 31.0, 42.0), 16
_FAINT, _STRONG = 0.18, 0.78


@dataclass(frozen=True)
class MarkedItem:
    """An item that is marked: its short name, its values, the link that leads to it, and its description."""

    name: str
    x: float
    y: float
    link: str
    title: str


@dataclass(frozen=True)
class MapTexts:
    """The texts of the map: `title` for screen readers, the axes, and what the strip and the region below 0 mean."""

    title: str
    x: str
    y: str
    strip: str
    negative: str
    count: Callable[[int], str]


@dataclass(frozen=True)
class ItemMap:
    """The items of a map: `x` from 0 to 1, `y` from -1 to 1 or nan, and the number of models behind `x`.

    `band` is the lowest correlation that can be told from none.
    """

    x: Floats
    y: Floats
    models: int
    band: float

    def picture(self, texts: MapTexts, marked: Sequence[MarkedItem]) -> Markup:
        """The chart: cells or dots, how many items there are along both axes, and links to marked items."""
        drawn = [*self._band(), *self._grid(), *self._items(texts.count), *self._margins(texts.count)]
        drawn += [*self._strip(texts), *self._axes(texts)]
        links = [self._link(mark) for mark in marked]
        places = [(self._at_x(mark.x), self._at_y(mark.y)) for mark in marked]
        badges = [
            _badge(mark, place, badge)
            for mark, place, badge in zip(marked, places, _badge_places(places), strict=False)
        ]
        height = _TOP + _HEIGHT + _GAP + _STRIP + 40
        return svg_element(
            "svg",
            svg_element("g", *drawn, role="img", aria_label=texts.title),
            svg_element("g", *links, *badges, aria_hidden="true"),
            class_="chart large",
            viewBox=f"0 0 {CHART_WIDTH} {height:g}",
        )

    @property
    def _low(self) -> float:
        return min(-0.25, floor(float(np.nanmin(self.y, initial=0.0)) * 4) / 4)

    @property
    def _high(self) -> float:
        return max(0.5, ceil(float(np.nanmax(self.y, initial=0.0)) * 4) / 4)

    @property
    def _edges(self) -> Floats:
        """The edges of the columns: with few models, each holds as many of the possible shares as its neighbours."""
        step = 1 / max(self.models, 1)
        each = ceil((self.models + 1) / _MOST_COLUMNS)
        inner = np.arange(0, self.models + 1, each) * step - step / 2
        return np.append(inner, 1 + step / 2)

    def _at_x(self, value: float) -> float:
        low, high = float(self._edges[0]), float(self._edges[-1])
        return _LEFT + (min(max(value, low), high) - low) / (high - low) * _WIDTH

    def _at_y(self, value: float) -> float:
        if np.isnan(value):
            return _TOP + _HEIGHT + _GAP + _STRIP / 2
        return _TOP + (1 - (min(max(value, self._low), self._high) - self._low) / (self._high - self._low)) * _HEIGHT

    def _columns(self, values: Floats) -> list[int]:
        return np.clip(np.searchsorted(self._edges, values, "right") - 1, 0, len(self._edges) - 2).tolist()

    def _rows(self, values: Floats) -> list[int]:
        part = (values - self._low) / (self._high - self._low)
        return np.clip(np.floor(part * _ROWS), 0, _ROWS - 1).astype(int).tolist()

    def _band(self) -> Iterator[Markup]:
        """The correlations that cannot be told from none."""
        top, bottom = self._at_y(self.band), self._at_y(-self.band)
        yield svg_element("rect", x=_LEFT, y=top, width=_WIDTH, height=bottom - top, class_="band")

    @cached_property
    def _known(self) -> Bools:
        """Which items have a correlation."""
        return ~np.isnan(self.y)

    @cached_property
    def _cells(self) -> Counter[tuple[int, int]]:
        """How many items are in each column and row; nothing if there are few enough to draw each."""
        if int(self._known.sum()) <= _MOST_DOTS:
            return Counter()
        return Counter(zip(self._columns(self.x[self._known]), self._rows(self.y[self._known]), strict=True))

    @property
    def most(self) -> int:
        """The most items that one cell holds; 0 if each item is a dot."""
        return max(self._cells.values(), default=0)

    def _items(self, count: Callable[[int], str]) -> Iterator[Markup]:
        if not self._cells:
            for x, y in zip(self.x[self._known].tolist(), self.y[self._known].tolist(), strict=True):
                yield svg_element("circle", cx=self._at_x(x), cy=self._at_y(y), r=3.2, class_="c0 many")
        most, height = self.most, _HEIGHT / _ROWS
        for (column, row), n in sorted(self._cells.items()):
            left, right = (self._at_x(float(self._edges[column + end])) for end in (0, 1))
            yield svg_element(
                "rect", svg_element("title", count(n)), x=left, y=_TOP + _HEIGHT - (row + 1) * height,
                width=right - left - 0.6, height=height - 0.6, class_="c0", fill_opacity=_opacity(n, most),
            )  # fmt: skip

    def _margins(self, count: Callable[[int], str]) -> Iterator[Markup]:
        """How many items there are in each column, above, and in each row, at the right."""
        columns = Counter(self._columns(self.x))
        most = max(columns.values(), default=1)
        for column, n in sorted(columns.items()):
            left, right = (self._at_x(float(self._edges[column + end])) for end in (0, 1))
            size = n / most * (_TOP - _GAP)
            yield svg_element(
                "rect", svg_element("title", count(n)), x=left, y=_TOP - _GAP - size, width=right - left - 0.6,
                height=size, class_="c0 pale",
            )  # fmt: skip
        rows = Counter(self._rows(self.y[self._known]))
        most, height = max(rows.values(), default=1), _HEIGHT / _ROWS
        for row, n in sorted(rows.items()):
            yield svg_element(
                "rect", svg_element("title", count(n)), x=_LEFT + _WIDTH + _GAP,
                y=_TOP + _HEIGHT - (row + 1) * height, width=n / most * _MARGIN, height=height - 0.6, class_="c0 pale",
            )  # fmt: skip

    def _strip(self, texts: MapTexts) -> Iterator[Markup]:
        """The items that have no correlation, because all models score the same on them."""
        columns = Counter(self._columns(self.x[~self._known]))
        most, top = max(columns.values(), default=1), _TOP + _HEIGHT + _GAP
        for column, n in sorted(columns.items()):
            left, right = (self._at_x(float(self._edges[column + end])) for end in (0, 1))
            yield svg_element(
                "rect", svg_element("title", texts.count(n)), x=left, y=top, width=right - left - 0.6, height=_STRIP,
                class_="c0", fill_opacity=_opacity(n, most),
            )  # fmt: skip
        yield svg_element("text", texts.strip, x=_LEFT - 6, y=top + 10, text_anchor="end", class_="t s")

    def _grid(self) -> Iterator[Markup]:
        right, bottom = _LEFT + _WIDTH, _TOP + _HEIGHT
        for value in self._ticks():
            y, css = self._at_y(value), "base" if value == 0 else "grid"
            yield svg_element("line", x1=_LEFT, x2=right, y1=y, y2=y, class_=css)
        for percent in _PERCENT:
            x = self._at_x(percent / 100)
            yield svg_element("line", x1=x, x2=x, y1=_TOP, y2=bottom + _GAP + _STRIP, class_="grid")

    def _ticks(self) -> list[float]:
        return [self._low + step / 4 for step in range(round((self._high - self._low) * 4) + 1)]

    def _axes(self, texts: MapTexts) -> Iterator[Markup]:
        bottom = _TOP + _HEIGHT
        for value in self._ticks():
            text = f"{value:g}".replace("-", "\N{MINUS SIGN}")
            yield svg_element("text", text, x=_LEFT - 6, y=self._at_y(value) + 4, text_anchor="end", class_="t s")
        for percent in _PERCENT:
            yield svg_element("text", f"{percent} %", x=self._at_x(percent / 100), y=bottom + _GAP + _STRIP + 15,
                              text_anchor="middle", class_="t s")  # fmt: skip
        middle = _TOP + _HEIGHT / 2
        yield svg_element(
            "text", texts.x, x=_LEFT + _WIDTH / 2, y=bottom + _GAP + _STRIP + 34, text_anchor="middle", class_="t s"
        )
        yield svg_element("text", texts.y, x=11.0, y=middle, text_anchor="middle", class_="t s",
                          transform=f"rotate(-90 11 {middle:g})")  # fmt: skip
        yield svg_element(
            "text", texts.negative, x=_LEFT + _WIDTH - 5, y=bottom - 6, text_anchor="end", class_="t s halo"
        )

    def _link(self, mark: MarkedItem) -> Markup:
        """A marked item; the keyboard reaches it in the list below instead."""
        dot = svg_element("circle", cx=self._at_x(mark.x), cy=self._at_y(mark.y), r=_DOT, class_="c1 ring")
        return svg_element("a", svg_element("title", mark.title), dot, href=mark.link, tabindex="-1")


def _badge_places(dots: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A place near each of the first dots for its name, away from all dots and from the names before it."""
    taken: list[tuple[float, float, float]] = [(x, y, _DOT) for x, y in dots]
    places: list[tuple[float, float]] = []
    for x, y in dots[:_NAMED]:
        around = [
            (x + distance * cos(2 * pi * turn / _ANGLES), y + distance * sin(2 * pi * turn / _ANGLES))
            for distance in _DISTANCES
            for turn in range(_ANGLES)
        ]
        inside = [place for place in around if _LEFT + _BADGE < place[0] < _LEFT + _WIDTH + _GAP - _BADGE]
        place = min(inside or around, key=lambda one: sum(
            max(0.0, _BADGE + radius + 1 - hypot(one[0] - a, one[1] - b)) for a, b, radius in taken))  # fmt: skip
        taken.append((*place, _BADGE))
        places.append(place)
    return places


def _badge(mark: MarkedItem, dot: tuple[float, float], place: tuple[float, float]) -> Markup:
    """The name of a marked item in a circle, joined with its dot; it is a link too."""
    (x, y), (a, b) = dot, place
    return svg_element(
        "a", svg_element("title", mark.title),
        svg_element("line", x1=x, y1=y, x2=a, y2=b, class_="c1 lead-line"),
        svg_element("circle", cx=x, cy=y, r=_DOT, class_="c1 ring"),
        svg_element("circle", cx=a, cy=b, r=_BADGE, class_="badge c1"),
        svg_element("text", mark.name, x=a, y=b + 3.8, text_anchor="middle", class_="t v"),
        href=mark.link, tabindex="-1",
    )  # fmt: skip


def _opacity(n: int, most: int) -> str:
    """The more items, the stronger; twice as many make the same step everywhere."""
    return f"{_FAINT + _STRONG * log1p(n - 1) / max(log1p(most - 1), 0.001):.2f}"


_SCALE_LEFT, _SCALE_RIGHT = 48.0, CHART_WIDTH - 6.0
_UP, _DOWN, _HEAD, _AXIS = 120.0, 70.0, 18.0, 22.0
_PER_LOGIT = 2
_CURVE = 150.0


def scale_chart(items: Floats, models: Floats, title: str, labels: tuple[str, str, str]) -> Markup:
    """How many items are how hard, upward, and how many models are how able, downward, on one scale in logits.

    `labels` name the items, the models and the scale.
    """
    both = np.concatenate([items, models])
    low, high = floor(float(both.min())), max(ceil(float(both.max())), floor(float(both.min())) + 1)
    width = (_SCALE_RIGHT - _SCALE_LEFT) / ((high - low) * _PER_LOGIT)
    drawn: list[Markup] = []
    zero, below = _HEAD + _UP, _HEAD + _UP + _AXIS
    for values, css, room, up in ((items, "c0", _UP, True), (models, "c1", _DOWN, False)):
        bins = np.clip(np.floor((values - low) * _PER_LOGIT), 0, (high - low) * _PER_LOGIT - 1).astype(int)
        counts = Counter(bins.tolist())
        scale = axis_ticks(max(counts.values()), 2)
        for tick in scale[1:]:
            y = zero - tick / scale[-1] * room if up else below + tick / scale[-1] * room
            drawn.append(svg_element("line", x1=_SCALE_LEFT, x2=_SCALE_RIGHT, y1=y, y2=y, class_="grid"))
            drawn.append(svg_element("text", f"{tick:g}", x=_SCALE_LEFT - 6, y=y + 4, text_anchor="end", class_="t s"))
        for place, n in sorted(counts.items()):
            size = n / scale[-1] * room
            top = zero - size if up else below
            drawn.append(
                svg_element("rect", x=_SCALE_LEFT + place * width, y=top, width=width - 1, height=size, class_=css)
            )
    for logit in range(low, high + 1):
        x = _SCALE_LEFT + (logit - low) * _PER_LOGIT * width
        text = f"{logit:g}".replace("-", "\N{MINUS SIGN}")
        drawn.append(svg_element("text", text, x=x, y=zero + 15, text_anchor="middle", class_="t s"))
    drawn += [svg_element("line", x1=_SCALE_LEFT, x2=_SCALE_RIGHT, y1=y, y2=y, class_="base") for y in (zero, below)]
    drawn += [
        svg_element("text", labels[0], x=_SCALE_LEFT, y=11.0, class_="t v"),
        svg_element("text", labels[1], x=_SCALE_LEFT, y=below + _DOWN + 17, class_="t v"),
        svg_element("text", labels[2], x=_SCALE_RIGHT, y=below + _DOWN + 17, text_anchor="end", class_="t s"),
    ]
    return chart_picture(below + _DOWN + 24, title, *drawn)


def curve_chart(x: Sequence[float], y: Sequence[float], title: str, axis: str) -> Markup:
    """A line through points on a scale from 0; `axis` names the horizontal one."""
    most = max(y) * 1.05
    low, high = min(x), max(x)
    step = next(step for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10) if most / step <= 5 or step == 10)
    bottom = _HEAD + _CURVE

    def at(one: float, other: float) -> tuple[float, float]:
        return _SCALE_LEFT + (one - low) / (high - low) * (_SCALE_RIGHT - _SCALE_LEFT), bottom - other / most * _CURVE

    drawn: list[Markup] = []
    for number in range(floor(most / step) + 1):
        level = at(low, number * step)[1]
        css = "grid" if number else "base"
        drawn.append(svg_element("line", x1=_SCALE_LEFT, x2=_SCALE_RIGHT, y1=level, y2=level, class_=css))
        drawn.append(
            svg_element("text", f"{number * step:g}", x=_SCALE_LEFT - 6, y=level + 4, text_anchor="end", class_="t s")
        )
    for tick in range(ceil(low), floor(high) + 1):
        text = f"{tick:g}".replace("-", "\N{MINUS SIGN}")
        drawn.append(svg_element("text", text, x=at(tick, 0)[0], y=bottom + 15, text_anchor="middle", class_="t s"))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(at, x, y))
    drawn.append(svg_element("polyline", points=points, class_="c0 curve"))
    middle = (_SCALE_LEFT + _SCALE_RIGHT) / 2
    drawn.append(svg_element("text", axis, x=middle, y=bottom + 34, text_anchor="middle", class_="t s"))
    return chart_picture(bottom + 40, title, *drawn)
