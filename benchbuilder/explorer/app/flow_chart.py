"""Draws the flow of a build as SVG: a box for each step, a line for each port, and links from all counts to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.explorer.reading.step_flow import FlowStep
from benchbuilder.exporters import shorten_label, svg_element

_WIDTH, _HEIGHT, _GAP, _LANE, _DROP = 158.0, 52.0, 18.0, 10.0, 42.0
_SWEEPS = 6
_FOOT = 4.0


@dataclass(frozen=True)
class FlowLinks:
    """Where the parts of the chart lead: a step, and rows of a step with one outcome (none: all its rows)."""

    step: Callable[[str], str]
    rows: Callable[[str, str], str]


@dataclass
class _FlowPlace:
    """A box, or a point where a long line crosses a layer: `step` is empty then."""

    key: str
    layer: int
    step: str = ""
    x: float = 0.0

    @property
    def width(self) -> float:
        return _WIDTH if self.step else _LANE


def flow_chart(flow: Sequence[FlowStep], links: FlowLinks, t: PageTexts) -> Markup:
    """The chart; the page has the same as a table, which is its text for screen readers."""
    steps = {step.name: step for step in flow}
    layers, lines = _layered(steps)
    width = _arrange(layers, lines)
    height = len(layers) * (_HEIGHT + _DROP) - _DROP + 2
    places = {place.key: place for layer in layers for place in layer}
    drawn = [_line([places[key] for key in line]) for line in lines]
    leaving = dict.fromkeys(line[0] for line in lines)
    labels = [_edge_label(steps[name], places[name], links, t) for name in leaving]
    boxes = [_box(steps[place.step], place, links, t) for place in places.values() if place.step]
    return svg_element(
        "svg", svg_element("title", t("view.flow.chart")), *drawn, *labels, *boxes, class_="flow", role="group",
        aria_label=t("view.flow.chart"), viewBox=f"-1 -1 {width + 2:.0f} {height:.0f}", width=width + 2, height=height,
    )  # fmt: skip


def _layered(steps: Mapping[str, FlowStep]) -> tuple[list[list[_FlowPlace]], list[list[str]]]:
    """The places of each layer from the top, and each line as the keys of the places that it passes."""
    depth: dict[str, int] = {}
    for name, step in steps.items():
        depth[name] = 1 + max((depth[up] for up in step.inputs), default=-1)
    for name in reversed(list(steps)):  # a source stands just above what reads it
        readers = [depth[other] for other, step in steps.items() if name in step.inputs]
        if steps[name].is_source and readers:
            depth[name] = min(readers) - 1
    layers: list[list[_FlowPlace]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for name in steps:
        layers[depth[name]].append(_FlowPlace(name, depth[name], name))
    lines: list[list[str]] = []
    for name, step in steps.items():
        for up in step.inputs:
            between = [_FlowPlace(f"{up}>{name}:{layer}", layer) for layer in range(depth[up] + 1, depth[name])]
            for place in between:
                layers[place.layer].append(place)
            lines.append([up, *(place.key for place in between), name])
    return layers, lines


def _arrange(layers: list[list[_FlowPlace]], lines: Sequence[Sequence[str]]) -> float:
    """Order each layer by the middle of its neighbours, and set all x; the width of the chart."""
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for line in lines:
        for upper, lower in pairwise(line):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    places = {place.key: place for layer in layers for place in layer}
    for layer in layers:
        _spread(layer)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = above if down else below
        for layer in layers if down else reversed(layers):
            middle = {
                place.key: _mean([_centre(places[key]) for key in neighbours.get(place.key, ())], _centre(place))
                for place in layer
            }
            layer.sort(key=lambda place: middle[place.key])
            _spread(layer, middle)
    left = min((place.x for place in places.values()), default=0.0)
    for place in places.values():
        place.x -= left
    return max((place.x + place.width for place in places.values()), default=0.0)


def _spread(layer: Sequence[_FlowPlace], middle: Mapping[str, float] | None = None) -> None:
    """Place a layer from the left, each as near to the wished middle as its neighbours allow."""
    if middle is None:
        x = 0.0
        for place in layer:
            place.x, x = x, x + place.width + _GAP
        return
    wished = [middle[place.key] - place.width / 2 for place in layer]
    x = float("-inf")
    for place, wish in zip(layer, wished, strict=True):
        place.x = max(wish, x)
        x = place.x + place.width + _GAP
    shift = _mean([wish - place.x for place, wish in zip(layer, wished, strict=True)], 0.0)
    for place in layer:
        place.x += shift


def _centre(place: _FlowPlace) -> float:
    return place.x + place.width / 2


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _top(place: _FlowPlace) -> float:
    return place.layer * (_HEIGHT + _DROP)


def _line(places: Sequence[_FlowPlace]) -> Markup:
    path, half = "", _DROP / 2
    for upper, lower in pairwise(places):
        x0, y0 = _centre(upper), _top(upper) + _HEIGHT
        x1, y1 = _centre(lower), _top(lower)
        path += f"M{x0:.1f} {y0:.1f}" if not path else f"L{x0:.1f} {y0:.1f}"
        path += f"C{x0:.1f} {y0 + half:.1f} {x1:.1f} {y1 - half:.1f} {x1:.1f} {y1:.1f}"
    return svg_element("path", d=path, class_="edge")


def _edge_label(step: FlowStep, place: _FlowPlace, links: FlowLinks, t: PageTexts) -> Markup:
    """How many rows go along each line of a step, where the lines leave it, as a link to these rows."""
    label = t("view.flow.edge", n=step.rows, step=step.name)
    text = svg_element(
        "text", t.number(step.rows), x=_centre(place) + 6, y=_top(place) + _HEIGHT + 14, class_="t s count"
    )
    return svg_element("a", text, href=links.rows(step.name, "kept"), aria_label=label)


def _box(step: FlowStep, place: _FlowPlace, links: FlowLinks, t: PageTexts) -> Markup:
    x, y = place.x, _top(place)
    name = svg_element("text", shorten_label(step.name, _WIDTH - 20), x=x + 10, y=y + 20, class_="t v")
    rows = t("view.flow.rows", n=step.rows)
    kept = svg_element("text", rows, x=x + 10, y=y + 38, class_="t s")
    css = "box source" if step.is_source else "box"
    parts = [
        svg_element("title", f"{step.name} ({step.kind})"),
        svg_element("rect", x=x, y=y, width=_WIDTH, height=_HEIGHT, rx=6.0, class_=css),
        svg_element("a", name, href=links.step(step.name)),
        svg_element("a", kept, href=links.rows(step.name, "kept"), aria_label=f"{step.name}: {rows}"),
    ]
    return svg_element("g", *parts, *(_loss(step, x, y, links, t) if step.lost else ()))


def _loss(step: FlowStep, x: float, y: float, links: FlowLinks, t: PageTexts) -> list[Markup]:
    """How many rows a step lost, as a link to them, and a bar at its foot with their share."""
    count = svg_element(
        "text", f"\u2212{t.number(step.lost)}", x=x + _WIDTH - 10, y=y + 38, text_anchor="end", class_="t lost"
    )
    label = f"{step.name}: {t('view.flow.lost', n=step.lost)}"
    length = max(3.0, (_WIDTH - 12) * step.lost_share)
    return [
        svg_element("a", count, href=links.rows(step.name, "lost"), aria_label=label),
        svg_element("rect", x=x + 6, y=y + _HEIGHT - _FOOT - 2, width=length, height=_FOOT, rx=2.0, class_="share"),
    ]
