"""Draws the charts of the report."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.core import PageTexts
from benchbuilder.exporters.render.dot_charts import ChartDot, ChartRow, row_chart
from benchbuilder.exporters.render.svg import Bar, Series, axis_ticks, bar_chart, column_chart, ribbon_chart, width_of
from benchbuilder.exporters.report.annotation import AnnotationSummary, ThresholdCounts
from benchbuilder.exporters.report.funnel import OutcomeCounts, SourceFunnel
from benchbuilder.exporters.report.summaries import EntrySummary


@dataclass(frozen=True)
class QuestionLengths:
    """Question lengths of a group, in characters."""

    source: str
    count: int
    mean: float
    median: float
    shortest: int
    longest: int


class ChartColours:
    """One CSS class per source and per type, the same in every chart."""

    def __init__(self, sources: Sequence[str], types: Sequence[str]) -> None:
        self._sources = {name: f"c{index % 8}" for index, name in enumerate(sources)}
        self._types = {name: f"k{index % 3}" for index, name in enumerate(types)}

    def source(self, name: str) -> str:
        """The class of a source; grey for other names (all sources, knowledge bases)."""
        return self._sources.get(name, "all")

    def type(self, name: str) -> str:
        """The class of a type."""
        return self._types.get(name, "all")


def question_lengths(entries: Sequence[EntrySummary], sources: Sequence[str]) -> list[QuestionLengths]:
    """Over all entries (source ""), then by source."""
    found: list[QuestionLengths] = []
    for source in ("", *sources):
        sizes = [entry.length for entry in entries if source in ("", entry.source)]
        if sizes:
            mean, median = statistics.fmean(sizes), float(statistics.median(sizes))
            found.append(QuestionLengths(source, len(sizes), mean, median, min(sizes), max(sizes)))
    return found


def length_bars(rows: Sequence[QuestionLengths], colours: ChartColours, t: PageTexts) -> Markup:
    """Mean question length: a bar per source, the mean over all in grey."""
    drawn = [
        Bar(row.source or t("report.all_sources"), row.mean, t.number(row.mean), colours.source(row.source))
        for row in rows
    ]
    return bar_chart(drawn, t("report.length_mean"))


def length_columns(
    entries: Sequence[EntrySummary], types: Sequence[str], colours: ChartColours, t: PageTexts
) -> Markup:
    """How many questions are how long, by type."""
    scale = axis_ticks(max((entry.length for entry in entries), default=0) + 1, 18)
    step = int(scale[1])
    layers = [
        Series(
            name,
            colours.type(name),
            _binned((e.length for e in entries if e.type == name), step, len(scale) - 1),
        )
        for name in types
    ]
    labels = [f"{int(edge)}" for edge in scale[:-1]]
    return column_chart(labels, layers, t("report.length_distribution"), axis=t("report.length_axis", step=step))


def _binned(sizes: Iterable[int], step: int, count: int) -> list[int]:
    binned = [0] * count
    for size in sizes:
        binned[size // step] += 1
    return binned


def evidence_columns(
    entries: Sequence[EntrySummary], sources: Sequence[str], colours: ChartColours, t: PageTexts
) -> Markup:
    """How many entries have how many paragraphs, by source."""
    top = max((len(entry.bases) for entry in entries), default=0)
    counts = Counter((entry.source, len(entry.bases)) for entry in entries)
    layers = [
        Series(
            source,
            colours.source(source),
            [counts[source, n] for n in range(top + 1)],
        )
        for source in sources
    ]
    labels = [str(n) for n in range(top + 1)]
    return column_chart(labels, layers, t("report.evidence_histogram"), axis=t("report.evidence_axis"), totals=True)


def threshold_columns(
    rows: Sequence[ThresholdCounts], sources: Sequence[str], colours: ChartColours, t: PageTexts
) -> Markup:
    """Rows kept under each threshold, by source; the recipe's own threshold is highlighted."""
    layers = [Series(s, colours.source(s), [row.by_source.get(s, 0) for row in rows]) for s in sources]
    if not any(sum(layer.values) for layer in layers):
        layers = [Series(t("report.all_sources"), "all", [row.kept for row in rows])]
    marked = next((index for index, row in enumerate(rows) if row.chosen), -1)
    labels = [f"≥ {row.threshold}" for row in rows]
    title = t("report.thresholds_chart")
    return column_chart(labels, layers, title, axis=t("report.thresholds_axis"), totals=True, marked=marked)


def agreement_dots(summary: AnnotationSummary, t: PageTexts) -> Markup | None:
    """How often two judges agree on each guiding question, with intervals and the floor; ``None`` without a value."""
    rows = [
        ChartRow(row.label, [ChartDot(one.value, one.low, one.high, "c2")], t.percent(one.value))
        for row in summary.agreement
        if (one := row.measures["percent"]).value is not None
    ]
    floor = summary.floor.get("raw")
    low = min(
        [floor or 1.0, *(dot.value if dot.low is None else dot.low for row in rows for dot in row.dots)], default=1
    )
    low = math.floor(min(low - 0.01, 0.9) * 10) / 10
    ticks = {value: f"{value * 100:g} %" for value in (low, (low + 1) / 2, 1.0)}
    label = min(max([80.0, *(width_of(row.label) + 4 for row in rows)]), 180.0)
    return (
        row_chart(rows, t("report.agreement"), ticks, margin=56, label=label, height=20, limit=floor) if rows else None
    )


def funnel_ribbon(outcomes: OutcomeCounts, branch: SourceFunnel, colours: ChartColours, title: str) -> Markup:
    """One step of a source's funnel as a bar; all its steps share one scale."""
    whole = max([branch.units.total, *(s.outcomes.total for s in branch.steps if s.role != "evidence")], default=0)
    parts = [
        (float(outcomes.kept), colours.source(branch.source)),
        (float(outcomes.dropped), "lost"),
        (float(outcomes.failed), "fail"),
        (float(outcomes.not_applicable), "aside"),
    ]
    return ribbon_chart(parts, whole, title)
