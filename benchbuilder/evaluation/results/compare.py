"""Comparisons: paired differences of systems, detectable differences, and correlation of aspects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, isnan, sqrt
from statistics import NormalDist, fmean, median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats
from benchbuilder.evaluation.results.columns import ItemValues
from benchbuilder.evaluation.results.context import BootstrapSettings, ResultsFrame, estimate_cell, table_line
from benchbuilder.evaluation.results.means import paired_systems, ranked_systems
from benchbuilder.evaluation.results.run import VERDICT, EvaluatedSystem, ScoredAspect
from benchbuilder.evaluation.stats.agreement import pearson_statistic, r_squared_statistic
from benchbuilder.evaluation.stats.intervals import DifferenceEstimate, bootstrap_estimates, paired_mean_difference
from benchbuilder.evaluation.stats.statistic import cluster_codes
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
        common = scores[first].shared(scores[second])
        if len(common):
            left, right = (scores[name].at(common) for name in (first, second))
            estimate = frame.once(paired_mean_difference, left, right, run.clusters(common), **bootstrap)
            differences.append((first, second, estimate))
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
    items = frame.run.items
    sides: list[dict[tuple[int, int], list[float]]] = []
    families: dict[tuple[int, int], int] = {}
    for measure in (first, second):
        values, found = frame.run.values(measure, system.name), defaultdict[tuple[int, int], list[float]](list)
        columns = (items.facts.codes, items.types.codes, items.clusters.codes)
        keys = (column[values.places].tolist() for column in columns)
        for fact, kind, family, value in zip(*keys, values.numbers.tolist(), strict=True):
            found[fact, kind].append(value)
            families[fact, kind] = family
        sides.append(found)
    common = [key for key in sides[0] if key in sides[1]]
    if not common:
        return None
    left, right = ([fmean(side[key]) for key in common] for side in sides)
    difference = paired_mean_difference(left, right, np.array([families[key] for key in common]), **frame.bootstrap)
    return frame.line(system, estimate_cell(difference), difference.p, len(common))


def samples_needed(comparisons: int, level: float) -> int:
    """The bootstrap samples needed for the smallest p value, times `comparisons`, to be below half of 1 - `level`.

    >>> samples_needed(45, 0.95)
    3600
    """
    return ceil(round(4 * comparisons / (1 - level), 6))


def standard_error(differences: Floats, clusters: NDArray[np.int32]) -> float | None:
    """The clustered standard error of the mean of `differences`; ``None`` with fewer than two clusters."""
    sums: list[float] = np.bincount(cluster_codes(clusters), differences - fmean(differences.tolist())).tolist()
    many = len(sums)
    if many < 2:
        return None
    return sqrt(sum(value**2 for value in sums) * many / (many - 1)) / len(differences)


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
        common = first.shared(second)
        if not len(common):
            continue
        error = standard_error(first.at(common) - second.at(common), frame.run.clusters(common))
        if error is not None:
            sizes.append((detectable_difference(frame, error), len(common)))
    if not sizes:
        return None
    typical = median(size for size, _ in sizes)
    needed = ceil(median(n * (size / frame.effect) ** 2 for size, n in sizes))
    largest, common = max(size for size, _ in sizes), int(median(n for _, n in sizes))
    return table_line(frame.measure_label(measure), common, typical, largest, needed)


class ScorePoint(NamedTuple):
    """The mean scores of a model in the `first` and `second` aspect."""

    name: str
    first: float
    second: float


@dataclass(frozen=True)
class AnswerPoints:
    """The scores of single answers in the `first` and `second` aspect, and the families of their items."""

    clusters: NDArray[np.int32]
    first: Floats
    second: Floats

    @classmethod
    def joined(cls, parts: Sequence[AnswerPoints]) -> AnswerPoints:
        """All these points."""
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("clusters", "first", "second"))
        )

    def __len__(self) -> int:
        return len(self.clusters)


class AspectPair(NamedTuple):
    """Two measures with the points of answers and one point per model."""

    first: ScoredAspect
    second: ScoredAspect
    answers: AnswerPoints
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
    return [pair for pair in pairs if len(pair.answers)]


def _bare(measure: ScoredAspect) -> tuple[str, ...]:
    """The parts of a scorer's name without ``judge`` and the aspect: one judge scores one aspect."""
    aside = {"judge", *measure.aspect.split("_")}
    return tuple(word for word in measure.scorer.split("_") if word not in aside)


def _points(frame: ResultsFrame, first: ScoredAspect, second: ScoredAspect) -> AspectPair:
    answers = [AnswerPoints(np.zeros(0, np.int32), np.zeros(0), np.zeros(0))]
    models: list[ScorePoint] = []
    for system in (system for system in frame.run.systems if system.group == "model"):
        left, right = (frame.run.values(measure, system.name) for measure in (first, second))
        common = left.shared(right)
        if len(common):
            answers.append(AnswerPoints(frame.run.clusters(common), left.at(common), right.at(common)))
            means = (fmean(values.at(common).tolist()) for values in (left, right))
            models.append(ScorePoint(system.display_name, *means))
    return AspectPair(first, second, AnswerPoints.joined(answers), tuple(models))


def correlation_table(frame: ResultsFrame, aspect_pairs: Sequence[AspectPair]) -> ResultTable:
    """Pearson's correlation and R² of two aspects, by answer and by model."""
    t = frame.t
    lines: list[TableLine] = []
    for pair in aspect_pairs:
        labels = {"first": frame.aspect_label(pair.first.aspect), "second": frame.aspect_label(pair.second.aspect)}
        title = frame.with_form(
            frame.with_scorers(t("results.together", **labels), pair.first, pair.second), pair.first
        )
        sides = (np.array([getattr(point, side) for point in pair.models]) for side in ("first", "second"))
        of_models = AnswerPoints(np.arange(len(pair.models), dtype=np.int32), *sides)
        for level, points in (("answer", pair.answers), ("model", of_models)):
            pearson, squared = _correlation(frame, points, spread=level == "answer")
            lines.append(table_line(title, t(f"results.level_{level}"), pearson, squared, len(points)))
    columns = (
        "aspects:words=results.measures level:words=results.level pearson:signed=results.pearson r_squared=R² n:count=n"
    )
    return frame.table("aspects", t("results.aspects"), columns, lines, keys=2)


_FEWEST = 3


def _correlation(frame: ResultsFrame, points: AnswerPoints, *, spread: bool) -> tuple[TableCell, TableCell]:
    if len(points) < _FEWEST:
        nothing = TableCell(why=frame.t("results.too_few"))
        return nothing, nothing
    scores = points.first, points.second
    statistics = {"r": pearson_statistic(*scores), "r2": r_squared_statistic(*scores)}
    estimates = bootstrap_estimates(statistics, points.clusters, **frame.bootstrap)
    cells = estimate_cell(estimates["r"]), estimate_cell(estimates["r2"])
    return cells if spread else (replace(cells[0], low=None, high=None), replace(cells[1], low=None, high=None))


def main_measures(measures: Sequence[ScoredAspect], aspects: Sequence[str]) -> list[ScoredAspect]:
    """The measures of `aspects` and of verdicts; all measures if there are none of these."""
    return [measure for measure in measures if measure.aspect in (*aspects, VERDICT)] or list(measures)


def item_means(values: Sequence[ItemValues]) -> tuple[ItemValues, NDArray[np.int64]]:
    """The mean of each item over the systems that `values` are of, and how many of them have a value."""
    places, counts = np.unique(np.concatenate([each.places for each in values]), return_counts=True)
    means = np.empty(len(places), np.float64)
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        table = np.full((len(block), len(values)), np.nan)
        for column, each in enumerate(values):
            low, high = np.searchsorted(each.places, (block[0], block[-1] + 1))
            table[np.searchsorted(block, each.places[low:high]), column] = each.numbers[low:high]
        means[start : start + _BLOCK] = [fmean(one for one in row if not isnan(one)) for row in table.tolist()]
    return ItemValues(places, means), counts


_BLOCK = 8_192
