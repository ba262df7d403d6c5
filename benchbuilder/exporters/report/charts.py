"""The charts of the report, each with the numbers that it shows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.core.text.lengths import length
from benchbuilder.exporters.render.i18n import Wording, number
from benchbuilder.exporters.render.svg import Bar, Series, bars, columns, ribbon, ticks
from benchbuilder.exporters.report.annotation import Survivors
from benchbuilder.exporters.report.entries import Entry
from benchbuilder.exporters.report.funnel import Branch, Fates


@dataclass(frozen=True)
class Lengths:
    """Question lengths of a group, in characters."""

    source: str
    count: int
    mean: float
    median: float
    shortest: int
    longest: int


class Colours:
    """One CSS class per source and per type, the same in every chart."""

    def __init__(self, sources: Sequence[str], types: Sequence[str]) -> None:
        self._sources = {name: f"c{index % 8}" for index, name in enumerate(sources)}
        self._types = {name: f"k{index % 3}" for index, name in enumerate(types)}

    def source(self, name: str) -> str:
        """The class of a source; grey for names that are none (the whole, knowledge bases)."""
        return self._sources.get(name, "all")

    def type(self, name: str) -> str:
        """The class of a type."""
        return self._types.get(name, "all")


def lengths(entries: Sequence[Entry], sources: Sequence[str]) -> list[Lengths]:
    """Over all entries (source ""), then by source."""
    found: list[Lengths] = []
    for source in ("", *sources):
        sizes = [length(entry.question) for entry in entries if source in ("", entry.source)]
        if sizes:
            mean, median = statistics.fmean(sizes), float(statistics.median(sizes))
            found.append(Lengths(source, len(sizes), mean, median, min(sizes), max(sizes)))
    return found


def length_bars(rows: Sequence[Lengths], colours: Colours, t: Wording) -> Markup:
    """Mean question length: a bar per source, the mean over all in grey."""
    drawn = [
        Bar(row.source or t("report.all_sources"), row.mean, number(row.mean), colours.source(row.source))
        for row in rows
    ]
    return bars(drawn, t("report.length_mean"))


def length_columns(entries: Sequence[Entry], types: Sequence[str], colours: Colours, t: Wording) -> Markup:
    """How many questions are how long, by type."""
    scale = ticks(max((length(entry.question) for entry in entries), default=0) + 1, 18)
    step = int(scale[1])
    layers = [
        Series(
            name,
            colours.type(name),
            _binned((length(e.question) for e in entries if e.type == name), step, len(scale) - 1),
        )
        for name in types
    ]
    labels = [f"{int(edge)}" for edge in scale[:-1]]
    return columns(labels, layers, t("report.length_distribution"), axis=t("report.length_axis", step=step))


def _binned(sizes: Iterable[int], step: int, count: int) -> list[int]:
    binned = [0] * count
    for size in sizes:
        binned[size // step] += 1
    return binned


def evidence_columns(entries: Sequence[Entry], sources: Sequence[str], colours: Colours, t: Wording) -> Markup:
    """How many entries have how many paragraphs, by source."""
    top = max((len(entry.evidence) for entry in entries), default=0)
    layers = [
        Series(
            source,
            colours.source(source),
            [sum(e.source == source and len(e.evidence) == n for e in entries) for n in range(top + 1)],
        )
        for source in sources
    ]
    labels = [str(n) for n in range(top + 1)]
    return columns(labels, layers, t("report.evidence_histogram"), axis=t("report.evidence_axis"), totals=True)


def survivor_columns(rows: Sequence[Survivors], sources: Sequence[str], colours: Colours, t: Wording) -> Markup:
    """Rows kept under each threshold, by source; the threshold that the recipe chose stands out."""
    layers = [Series(s, colours.source(s), [row.by_source.get(s, 0) for row in rows]) for s in sources]
    if not any(sum(layer.values) for layer in layers):
        layers = [Series(t("report.all_sources"), "all", [row.kept for row in rows])]
    marked = next((index for index, row in enumerate(rows) if row.chosen), -1)
    labels = [f"≥ {row.threshold}" for row in rows]
    title = t("report.survivors_chart")
    return columns(labels, layers, title, axis=t("report.survivors_axis"), totals=True, marked=marked)


def funnel_ribbon(fates: Fates, branch: Branch, colours: Colours, title: str) -> Markup:
    """One step of a branch as a bar; all steps of the branch share one scale."""
    whole = max([branch.units.tickets, *(s.fates.tickets for s in branch.steps if s.role != "evidence")], default=0)
    parts = [
        (float(fates.kept), colours.source(branch.source)),
        (float(fates.dropped), "lost"),
        (float(fates.failed), "fail"),
        (float(fates.not_applicable), "aside"),
    ]
    return ribbon(parts, whole, title)
