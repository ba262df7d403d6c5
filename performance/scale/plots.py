"""Growth as SVG, both axes logarithmic, with the line that was fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchbuilder.exporters.render.svg import svg_element
from scale.fits import Fit, Points, growing

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 70, 40, 20, 50
COLOURS = ("#1b6ca8", "#c8553d", "#2f8f5b", "#8a5fb0")
INK, GRID = "#333333", "#dddddd"
FONT = "font-family:sans-serif;font-size:12px"


@dataclass(frozen=True)
class Curve:
    """What grew: sizes and seconds."""

    label: str
    points: Points


def curves(results: Mapping[str, Any]) -> dict[str, tuple[str, str, list[Curve]]]:
    """By file name: title, label of the sizes, curves with at least two points."""
    tasks: Mapping[str, Any] = results["tasks"]
    ours, plain = _all(tasks, "retrieval.ours."), _all(tasks, "retrieval.plain.")
    triples = _all(tasks, "triples.")
    asked = tasks.get("queries.ours", {"points": [], "paragraphs": 0})
    single = [
        Curve("rank_bm25: a query", [(n, one["queries_s"] / one["queries"]) for n, one in plain]),
        Curve("benchbuilder: a query", [(n, one["queries_s"] / one["queries"]) for n, one in ours]),
        Curve("jieba and rank_bm25: index", [(n, one["tokens_s"] + one["index_s"]) for n, one in plain]),
        Curve("benchbuilder: index", [(n, one["index_s"]) for n, one in ours]),
    ]
    builds = [Curve(called, [(n, one[key]["seconds"]) for n, one in triples]) for key, called in
              (("first", "first build"), ("again", "again, nothing changed"))]  # fmt: skip
    many = [Curve(f"queries over {asked['paragraphs']:,} paragraphs", asked["points"])]
    drawn = {
        "triples.svg": ("Builds of triples, to candidates with evidence", "triples", builds),
        "paragraphs.svg": ("BM25 over growing numbers of paragraphs", "paragraphs", single),
        "queries.svg": ("BM25, growing numbers of queries", "queries", many),
    }
    grown = {name: [one for one in some if len(one.points) > 1] for name, (_, _, some) in drawn.items()}
    return {name: (title, axis, grown[name]) for name, (title, axis, _) in drawn.items() if grown[name]}


def _all(tasks: Mapping[str, Any], start: str) -> list[tuple[float, Any]]:
    names = [name for name in tasks if name.startswith(start)]
    return sorted(((float(name.removeprefix(start)), tasks[name]) for name in names), key=lambda one: one[0])


def write(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what there are figures for."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, (title, axis, some) in curves(results).items():
        (folder / name).write_text(f"{chart(title, axis, some)}\n", encoding="utf-8")
        written.append(folder / name)
    return written


def chart(title: str, axis: str, some: Sequence[Curve]) -> Markup:
    """One picture; the key gives the exponent of each curve and the size from which it was fitted."""
    sizes, seconds = zip(*(point for curve in some for point in curve.points), strict=True)
    across, up = _Scale.over(sizes, LEFT, WIDTH - RIGHT), _Scale.over(seconds, HEIGHT - BOTTOM, TOP)
    drawn = [svg_element("title", title), svg_element("rect", width=WIDTH, height=HEIGHT, fill="white")]
    drawn += [part for power in across.powers() for part in _across(across, power)]
    drawn += [part for power in up.powers() for part in _up(up, power)]
    drawn.append(
        svg_element("text", axis, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 12.0, text_anchor="middle", fill=INK)
    )
    for number, curve in enumerate(some):
        drawn += _curve(curve, COLOURS[number % len(COLOURS)], across, up, TOP + 16.0 + 16 * number)
    return svg_element(
        "svg", *drawn, xmlns="http://www.w3.org/2000/svg", role="img", viewBox=f"0 0 {WIDTH} {HEIGHT}", style=FONT
    )


@dataclass(frozen=True)
class _Scale:
    """From powers of ten to places."""

    low: int
    high: int
    first: float
    last: float

    @classmethod
    def over(cls, values: Sequence[float], first: float, last: float) -> _Scale:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return cls(low, max(high, low + 1), first, last)

    def at(self, value: float) -> float:
        return self.first + (math.log10(value) - self.low) / (self.high - self.low) * (self.last - self.first)

    def powers(self) -> range:
        return range(self.low, self.high + 1)


def _across(scale: _Scale, power: int) -> list[Markup]:
    x = scale.at(10.0**power)
    line = svg_element("line", x1=x, x2=x, y1=float(TOP), y2=float(HEIGHT - BOTTOM), stroke=GRID)
    return [
        line,
        svg_element("text", f"{10**power:,}", x=x, y=HEIGHT - BOTTOM + 16.0, text_anchor="middle", fill=INK),
    ]


def _up(scale: _Scale, power: int) -> list[Markup]:
    y = scale.at(10.0**power)
    shown = f"{10**power:,} s" if power >= 0 else f"{10.0 ** (power + 3):g} ms"
    line = svg_element("line", x1=float(LEFT), x2=float(WIDTH - RIGHT), y1=y, y2=y, stroke=GRID)
    return [line, svg_element("text", shown, x=LEFT - 6.0, y=y + 4, text_anchor="end", fill=INK)]


def _curve(curve: Curve, colour: str, across: _Scale, up: _Scale, y: float) -> list[Markup]:
    fit = growing(curve.points)
    told = f"{curve.label}: exponent {fit.exponent:.2f} from {fit.first:,.0f} on" if fit is not None else curve.label
    drawn = [
        svg_element("circle", cx=across.at(size), cy=up.at(took), r=4.0, fill=colour) for size, took in curve.points
    ]
    if fit is not None:
        drawn.append(_fitted(fit, max(size for size, _ in curve.points), colour, across, up))
    key = svg_element("circle", cx=LEFT + 14.0, cy=y - 4, r=4.0, fill=colour)
    return [*drawn, key, svg_element("text", told, x=LEFT + 24.0, y=y, fill=INK)]


def _fitted(fit: Fit, last: float, colour: str, across: _Scale, up: _Scale) -> Markup:
    ends = [(across.at(size), up.at(fit.at(size))) for size in (fit.first, last)]
    return svg_element(
        "line", x1=ends[0][0], y1=ends[0][1], x2=ends[1][0], y2=ends[1][1], stroke=colour, stroke_width=1.5
    )
