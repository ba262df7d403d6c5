"""Comparisons: paired differences of systems, detectable differences, and correlation of aspects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil, sqrt
from statistics import NormalDist, fmean, median
from typing import NamedTuple

import numpy as np

from benchbuilder.core import (
    DifferenceEstimate,
    bootstrap_estimates,
    paired_mean_difference,
    pearson_statistic,
    r_squared_statistic,
)
from benchbuilder.evaluation.results.context import BootstrapSettings, ResultsFrame, estimate_cell, table_line
from benchbuilder.evaluation.results.means import ranked_systems
from benchbuilder.evaluation.results.run import VERDICT, EvaluatedSystem, ScoredAspect
from benchbuilder.exporters import ResultTable, TableCell, TableColumn, TableLine


def holm_adjusted(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for their number by Holm's step-down procedure; the order is kept.

    >>> holm_adjusted([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    above = 0.0
    for rank, (p, place) in enumerate(known):
        above = max(above, min(1.0, p * (len(known) - rank)))
        adjusted[place] = above
    return adjusted


def paired_systems(frame: ResultsFrame, measure: ScoredAspect) -> list[EvaluatedSystem]:
    """The systems to compare in pairs: models and people; also rules if there would be no pair without them."""
    everyone = ranked_systems(frame, measure)
    known = [system for system in everyone if system.group != "rule"]
    return known if len(known) > 1 else everyone


def pairwise_table(frame: ResultsFrame, measure: ScoredAspect) -> ResultTable | None:
    """The difference of every pair over the items that both have a score for; ``None`` without a pair."""
    run, t = frame.run, frame.t
    scores = {system.name: run.values(measure, system.name) for system in paired_systems(frame, measure)}
    called = {system.name: system.display_name for system in run.systems}
    chosen = list(combinations(scores, 2))
    bootstrap: BootstrapSettings = {
        **frame.bootstrap,
        "samples": max(frame.bootstrap["samples"], samples_needed(len(chosen), frame.bootstrap["level"])),
    }
    differences: list[tuple[str, str, DifferenceEstimate]] = []
    for first, second in chosen:
        common = [item for item in scores[first] if item in scores[second]]
        if common:
            left, right = ([scores[name][item] for item in common] for name in (first, second))
            differences.append((first, second, paired_mean_difference(left, right, run.clusters(common), **bootstrap)))
    if not differences:
        return None
    adjusted = holm_adjusted([difference.p for _, _, difference in differences])
    columns = (
        "first:words=results.first second:words=results.second difference:signed=results.difference p=p "
        "p_holm=results.p_holm n:count=results.common"
    )
    lines = [
        table_line(called[first], called[second], estimate_cell(difference), difference.p, holm_p, difference.n)
        for (first, second, difference), holm_p in zip(differences, adjusted, strict=True)
    ]
    note = t("results.pairs_note", samples=bootstrap["samples"])
    return frame.table(f"pairs_{measure.slug}", frame.measure_label(measure), columns, lines, notes=[note], keys=2)


def forms_tables(frame: ResultsFrame) -> list[ResultTable]:
    """How much better each system is on facts in one form than on the same facts in another, by measure."""
    by_scorer: defaultdict[tuple[str, str], list[ScoredAspect]] = defaultdict(list)
    for measure in frame.run.measures:
        if measure.form:
            by_scorer[measure.aspect, measure.scorer].append(measure)
    tables: list[ResultTable] = []
    for measures in by_scorer.values():
        for first, second in combinations(measures, 2):
            lines = [
                line
                for system in ranked_systems(frame, first)
                if (line := _forms_line(frame, system, first, second)) is not None
            ]
            if lines:
                columns = "model:words=common.model difference:signed=results.difference p=p n:count=results.facts"
                title = frame.t("results.of_forms", measure=frame.measure_label(replace(first, form="")),
                                first=first.form, second=second.form)  # fmt: skip
                name, lead = f"forms_{first.slug}_{second.form}", frame.t("results.forms_lead")
                tables.append(frame.table(name, title, columns, lines, lead=lead))
    return tables


def _forms_line(
    frame: ResultsFrame, system: EvaluatedSystem, first: ScoredAspect, second: ScoredAspect
) -> TableLine | None:
    """The difference of a system over facts and types of question that it was asked in both forms; ``None`` without."""
    entries = {entry.row.id: entry for entry in frame.run.entries}
    sides: list[dict[tuple[str, str], list[float]]] = []
    families: dict[tuple[str, str], str] = {}
    for measure in (first, second):
        found: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for item, value in frame.run.values(measure, system.name).items():
            key = (str(getattr(entries[item].row, "fact", "") or item), entries[item].type)
            found[key].append(value)
            families[key] = frame.run.facts[item]
        sides.append(found)
    common = [key for key in sides[0] if key in sides[1]]
    if not common:
        return None
    left, right = ([fmean(side[key]) for key in common] for side in sides)
    difference = paired_mean_difference(left, right, [families[key] for key in common], **frame.bootstrap)
    return frame.line(system, estimate_cell(difference), difference.p, len(common))


def samples_needed(comparisons: int, level: float) -> int:
    """The bootstrap samples needed for the smallest p value, times `comparisons`, to be below half of 1 - `level`.

    >>> samples_needed(45, 0.95)
    3600
    """
    return ceil(round(4 * comparisons / (1 - level), 6))


def standard_error(differences: Sequence[float], clusters: Sequence[str]) -> float | None:
    """The clustered standard error of the mean of `differences`; ``None`` with fewer than two clusters."""
    sums: defaultdict[str, float] = defaultdict(float)
    mean = fmean(differences)
    for value, cluster in zip(differences, clusters, strict=True):
        sums[cluster] += value - mean
    many = len(sums)
    if many < 2:
        return None
    return sqrt(sum(value**2 for value in sums.values()) * many / (many - 1)) / len(differences)


def detectable_difference(frame: ResultsFrame, error: float) -> float:
    """The smallest true difference that is detected at the frame's level with its power.

    It is the sum of two normal quantiles, times the standard error (Miller, arXiv 2411.00640).
    """
    normal = NormalDist()
    return (normal.inv_cdf((1 + frame.bootstrap["level"]) / 2) + normal.inv_cdf(frame.power)) * error


def power_table(frame: ResultsFrame, measures: Sequence[ScoredAspect]) -> ResultTable:
    """The smallest detectable difference between two models, by measure."""
    t = frame.t
    lines = [line for measure in measures if (line := _power_line(frame, measure)) is not None]
    power, level = f"{frame.power * 100:g} %", f"{frame.bootstrap['level'] * 100:g} %"
    columns = (
        TableColumn("measure", t("results.measure"), "words"),
        TableColumn("questions", t("results.common"), "count"),
        TableColumn("smallest", t("results.smallest")),
        TableColumn("largest", t("results.largest")),
        TableColumn("needed", t("results.needed", effect=f"{frame.effect:g}"), "count"),
    )
    lead = t("results.power_lead", power=power, level=level)
    return ResultTable("power", t("results.power"), columns, tuple(lines), lead, (t("results.power_note"),))


def _power_line(frame: ResultsFrame, measure: ScoredAspect) -> TableLine | None:
    scores = [frame.run.values(measure, system.name) for system in paired_systems(frame, measure)]
    sizes: list[tuple[float, int]] = []
    for first, second in combinations(scores, 2):
        common = [item for item in first if item in second]
        if not common:
            continue
        error = standard_error([first[i] - second[i] for i in common], frame.run.clusters(common))
        if error is not None:
            sizes.append((detectable_difference(frame, error), len(common)))
    if not sizes:
        return None
    typical = median(size for size, _ in sizes)
    needed = ceil(median(n * (size / frame.effect) ** 2 for size, n in sizes))
    largest, common = max(size for size, _ in sizes), int(median(n for _, n in sizes))
    return table_line(frame.measure_label(measure), common, typical, largest, needed)


class ScorePoint(NamedTuple):
    """Scores in the `first` and `second` aspect; `name` is a model, or empty for a single answer."""

    name: str
    fact: str
    first: float
    second: float


class AspectPair(NamedTuple):
    """Two measures with a point per answer and one per model."""

    first: ScoredAspect
    second: ScoredAspect
    answers: tuple[ScorePoint, ...]
    models: tuple[ScorePoint, ...]


def aspect_pair(frame: ResultsFrame, aspects: Sequence[str]) -> list[AspectPair]:
    """The first two of `aspects`, for each scorer (or kind of scorer) that has both; models only."""
    if len(aspects) < 2:
        return []
    measures = frame.run.measures
    pairs: list[AspectPair] = []
    for first in (measure for measure in measures if measure.aspect == aspects[0]):
        alike = [other for other in measures if (other.role, other.form) == (first.role, first.form)]
        others = [other for other in alike if other.aspect == aspects[1]]
        named = [other for other in others if other.scorer == first.scorer]
        same_judge = [other for other in others if _bare(other) and _bare(other) == _bare(first)]
        pairs += [_points(frame, first, second) for second in (named or same_judge)[:1]]
    return [pair for pair in pairs if pair.answers]


def _bare(measure: ScoredAspect) -> tuple[str, ...]:
    """The parts of a scorer's name without ``judge`` and the aspect: one judge scores one aspect."""
    aside = {"judge", *measure.aspect.split("_")}
    return tuple(word for word in measure.scorer.split("_") if word not in aside)


def _points(frame: ResultsFrame, first: ScoredAspect, second: ScoredAspect) -> AspectPair:
    answers: list[ScorePoint] = []
    models: list[ScorePoint] = []
    for system in (system for system in frame.run.systems if system.group == "model"):
        left, right = (frame.run.values(measure, system.name) for measure in (first, second))
        points = [ScorePoint("", frame.run.facts[i], left[i], right[i]) for i in left if i in right]
        answers += points
        if points:
            means = fmean(point.first for point in points), fmean(point.second for point in points)
            models.append(ScorePoint(system.display_name, system.name, *means))
    return AspectPair(first, second, tuple(answers), tuple(models))


def correlation_table(frame: ResultsFrame, aspect_pairs: Sequence[AspectPair]) -> ResultTable:
    """Pearson's correlation and R² of two aspects, by answer and by model."""
    t = frame.t
    lines: list[TableLine] = []
    for pair in aspect_pairs:
        labels = {"first": frame.aspect_label(pair.first.aspect), "second": frame.aspect_label(pair.second.aspect)}
        title = frame.with_scorers(t("results.together", **labels), pair.first, pair.second)
        for level, points in (("answer", pair.answers), ("model", pair.models)):
            pearson, squared = _correlation(frame, points, spread=level == "answer")
            lines.append(table_line(title, t(f"results.level_{level}"), pearson, squared, len(points)))
    columns = (
        "aspects:words=results.measures level:words=results.level pearson:signed=results.pearson r_squared=R² n:count=n"
    )
    return frame.table("aspects", t("results.aspects"), columns, lines, keys=2)


_FEWEST = 3


def _correlation(frame: ResultsFrame, points: Sequence[ScorePoint], *, spread: bool) -> tuple[TableCell, TableCell]:
    if len(points) < _FEWEST:
        nothing = TableCell(why=frame.t("results.too_few"))
        return nothing, nothing
    first, second = np.array([p.first for p in points]), np.array([p.second for p in points])
    statistics = {"r": pearson_statistic(first, second), "r2": r_squared_statistic(first, second)}
    estimates = bootstrap_estimates(statistics, [p.fact for p in points], **frame.bootstrap)
    cells = estimate_cell(estimates["r"]), estimate_cell(estimates["r2"])
    return cells if spread else (replace(cells[0], low=None, high=None), replace(cells[1], low=None, high=None))


def main_measures(measures: Sequence[ScoredAspect], aspects: Sequence[str]) -> list[ScoredAspect]:
    """The measures of `aspects` and of verdicts; all measures if there are none of these."""
    return [measure for measure in measures if measure.aspect in (*aspects, VERDICT)] or list(measures)


def item_values(frame: ResultsFrame, measure: ScoredAspect, names: Sequence[str]) -> Mapping[str, list[float]]:
    """The values of each item, over the systems in `names`."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for name in names:
        for item, value in frame.run.values(measure, name).items():
            found[item].append(value)
    return found
