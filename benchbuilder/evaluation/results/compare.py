"""Models against each other: paired differences, what difference could be seen at all, and how aspects go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil, sqrt
from statistics import NormalDist, fmean, median
from typing import NamedTuple

import numpy as np

from benchbuilder.core.stats.correlation import of_pearson, of_r_squared
from benchbuilder.core.stats.intervals import Difference, estimates, paired_means
from benchbuilder.evaluation.results.context import Drawn, Frame, estimate_cell
from benchbuilder.evaluation.results.means import ranked
from benchbuilder.evaluation.results.run import VERDICT, Contender, Measure
from benchbuilder.exporters.render.tables import Cell, Column, Line, Sheet, count, words


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p values that allow for how many there are (Holm's step-down), in the order given.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    found: list[float | None] = [None] * len(values)
    above = 0.0
    for rank, (p, place) in enumerate(known):
        above = max(above, min(1.0, p * (len(known) - rank)))
        found[place] = above
    return found


def compared(frame: Frame, measure: Measure) -> list[Contender]:
    """Who is compared in pairs: models and people; rules too where there would be no pair without them."""
    everyone = ranked(frame, measure)
    known = [one for one in everyone if one.group != "rule"]
    return known if len(known) > 1 else everyone


def pairs(frame: Frame, measure: Measure) -> Sheet | None:
    """The difference of every two over the items that both have a score for; ``None`` where there are not two."""
    run, t = frame.run, frame.t
    scores = {one.name: run.values(measure, one.name) for one in compared(frame, measure)}
    called = {one.name: one.called for one in run.contenders}
    chosen = list(combinations(scores, 2))
    drawn: Drawn = {**frame.drawn, "samples": max(frame.drawn["samples"], enough(len(chosen), frame.drawn["level"]))}
    found: list[tuple[str, str, Difference]] = []
    for first, second in chosen:
        common = [item for item in scores[first] if item in scores[second]]
        if common:
            left, right = ([scores[name][item] for item in common] for name in (first, second))
            found.append((first, second, paired_means(left, right, run.clusters(common), **drawn)))
    if not found:
        return None
    adjusted = holm([difference.p for _, _, difference in found])
    return Sheet(
        name=f"pairs_{measure.slug}",
        title=frame.title(measure),
        columns=(
            Column("first", t("results.first"), "words"),
            Column("second", t("results.second"), "words"),
            Column("difference", t("results.difference"), "signed"),
            Column("p", "p"),
            Column("p_holm", t("results.p_holm")),
            Column("n", t("results.common"), "count"),
        ),
        lines=tuple(
            Line((words(called[first]), words(called[second]), estimate_cell(d), Cell(d.p), Cell(holm_p), count(d.n)))
            for (first, second, d), holm_p in zip(found, adjusted, strict=True)
        ),
        notes=(t("results.pairs_note", samples=drawn["samples"]),),
        keys=2,
    )


def enough(pairs_: int, level: float) -> int:
    """How many samples it takes that the smallest p value, times the number of pairs, is below half of 1 - `level`.

    >>> enough(45, 0.95)
    3600
    """
    return ceil(round(4 * pairs_ / (1 - level), 6))


def standard_error(differences: Sequence[float], clusters: Sequence[str]) -> float | None:
    """The standard error of the mean of `differences` whose clusters are independent; ``None`` of one cluster."""
    sums: defaultdict[str, float] = defaultdict(float)
    mean = fmean(differences)
    for value, cluster in zip(differences, clusters, strict=True):
        sums[cluster] += value - mean
    many = len(sums)
    if many < 2:
        return None
    return sqrt(sum(value**2 for value in sums.values()) * many / (many - 1)) / len(differences)


def visible(frame: Frame, error: float) -> float:
    """The smallest true difference that would be found at the frame's level as often as its power says.

    The sum of two normal quantiles times the standard error (Miller, arXiv 2411.00640).
    """
    normal = NormalDist()
    return (normal.inv_cdf((1 + frame.drawn["level"]) / 2) + normal.inv_cdf(frame.power)) * error


def power(frame: Frame, measures: Sequence[Measure]) -> Sheet:
    """The smallest difference between two models that can be seen, by measure."""
    t = frame.t
    lines = [line for measure in measures if (line := _power_line(frame, measure)) is not None]
    effect = f"{frame.effect:g}"
    return Sheet(
        name="power",
        title=t("results.power"),
        lead=t("results.power_lead", power=f"{frame.power * 100:g} %", level=f"{frame.drawn['level'] * 100:g} %"),
        columns=(
            Column("measure", t("results.measure"), "words"),
            Column("questions", t("results.common"), "count"),
            Column("smallest", t("results.smallest")),
            Column("largest", t("results.largest")),
            Column("needed", t("results.needed", effect=effect), "count"),
        ),
        lines=tuple(lines),
        notes=(t("results.power_note"),),
    )


def _power_line(frame: Frame, measure: Measure) -> Line | None:
    scores = [frame.run.values(measure, one.name) for one in compared(frame, measure)]
    found: list[tuple[float, int]] = []
    for first, second in combinations(scores, 2):
        common = [item for item in first if item in second]
        if not common:
            continue
        error = standard_error([first[i] - second[i] for i in common], frame.run.clusters(common))
        if error is not None:
            found.append((visible(frame, error), len(common)))
    if not found:
        return None
    typical = median(size for size, _ in found)
    needed = ceil(median(n * (size / frame.effect) ** 2 for size, n in found))
    return Line((
        words(frame.title(measure)), count(int(median(n for _, n in found))), Cell(typical),
        Cell(max(size for size, _ in found)), count(needed),
    ))  # fmt: skip


class Point(NamedTuple):
    """Two scores of one thing, `first` and `second` aspect; `name` is a model, or nothing for a single answer."""

    name: str
    fact: str
    first: float
    second: float


class Together(NamedTuple):
    """Two measures that are looked at together, with a point per answer and one per model."""

    first: Measure
    second: Measure
    answers: tuple[Point, ...]
    models: tuple[Point, ...]


def together(frame: Frame, aspects: Sequence[str]) -> list[Together]:
    """The first two of `aspects` by each scorer (or kind of scorer) that has both; only models count."""
    if len(aspects) < 2:
        return []
    found: list[Together] = []
    for first in (one for one in frame.run.measures if one.aspect == aspects[0]):
        others = [one for one in frame.run.measures if one.aspect == aspects[1] and one.role == first.role]
        second = next((one for one in others if one.scorer == first.scorer), _same_judge(first, others))
        if second is not None:
            found.append(_points(frame, first, second))
    return [one for one in found if one.answers]


def _same_judge(first: Measure, others: Sequence[Measure]) -> Measure | None:
    """The measure by the scorer that is called the same but for the aspect: one judge scores one aspect."""
    return next((other for other in others if _bare(other) and _bare(other) == _bare(first)), None)


def _bare(measure: Measure) -> tuple[str, ...]:
    """The words of a scorer's name without ``judge`` and the aspect."""
    aside = {"judge", *measure.aspect.split("_")}
    return tuple(word for word in measure.scorer.split("_") if word not in aside)


def _points(frame: Frame, first: Measure, second: Measure) -> Together:
    answers: list[Point] = []
    models: list[Point] = []
    for one in (one for one in frame.run.contenders if one.group == "model"):
        name = one.name
        left, right = frame.run.values(first, name), frame.run.values(second, name)
        mine = [Point("", frame.run.facts[i], left[i], right[i]) for i in left if i in right]
        answers += mine
        if mine:
            models.append(Point(one.called, name, fmean(p.first for p in mine), fmean(p.second for p in mine)))
    return Together(first, second, tuple(answers), tuple(models))


def correlations(frame: Frame, pairs_of: Sequence[Together]) -> Sheet:
    """Pearson's correlation and R² of two aspects, by answer and by model."""
    t = frame.t
    lines: list[Line] = []
    for one in pairs_of:
        aspects = t("results.together", first=frame.aspect(one.first.aspect), second=frame.aspect(one.second.aspect))
        title = frame.titled(aspects, one.first, one.second)
        for level, points in (("answer", one.answers), ("model", one.models)):
            pearson, squared = _correlation(frame, points, spread=level == "answer")
            lines.append(Line((words(title), words(t(f"results.level_{level}")), pearson, squared, count(len(points)))))
    return Sheet(
        name="aspects",
        title=t("results.aspects"),
        columns=(
            Column("aspects", t("results.measures"), "words"),
            Column("level", t("results.level"), "words"),
            Column("pearson", t("results.pearson"), "signed"),
            Column("r_squared", "R²"),
            Column("n", "n", "count"),
        ),
        lines=tuple(lines),
        keys=2,
    )


_FEWEST = 3


def _correlation(frame: Frame, points: Sequence[Point], *, spread: bool) -> tuple[Cell, Cell]:
    if len(points) < _FEWEST:
        nothing = Cell(why=frame.t("results.too_few"))
        return nothing, nothing
    first, second = np.array([p.first for p in points]), np.array([p.second for p in points])
    statistics = {"r": of_pearson(first, second), "r2": of_r_squared(first, second)}
    found = estimates(statistics, [p.fact for p in points], **frame.drawn)
    cells = estimate_cell(found["r"]), estimate_cell(found["r2"])
    return cells if spread else (replace(cells[0], low=None, high=None), replace(cells[1], low=None, high=None))


def main_measures(measures: Sequence[Measure], aspects: Sequence[str]) -> list[Measure]:
    """Those of `aspects` and of verdicts; all where there is none of these."""
    return [one for one in measures if one.aspect in (*aspects, VERDICT)] or list(measures)


def by_item(frame: Frame, measure: Measure, names: Sequence[str]) -> Mapping[str, list[float]]:
    """The values of each item, over the contenders of `names`."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for name in names:
        for item, value in frame.run.values(measure, name).items():
            found[item].append(value)
    return found
