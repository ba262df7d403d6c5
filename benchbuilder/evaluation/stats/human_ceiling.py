"""A judge beside people: the ceiling of their agreement, and the alternative-annotator test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, imports_of, safe_ratio
from benchbuilder.evaluation.stats.agreement import pearson_statistic
from benchbuilder.evaluation.stats.statistic import Bools, OptionalValues, Statistic, float_array
from benchbuilder.evaluation.stats.student_t import probability_below

WHY_NO_CEILING = "no rater can be compared with the others"


@dataclass(frozen=True)
class HumanCeiling:
    """Pearson's correlation of each rater with the mean of the others, and the `mean` of these over raters.

    ``None`` is undefined: the rater or the others gave the same value everywhere, or there are no others. `n` counts
    the rows of each rater that others rated too. `judge` is the judge's correlation with the mean of the others,
    averaged over the same raters: it is comparable with `mean`, as both have the same reference.
    """

    by_rater: dict[str, float | None]
    n: dict[str, int]
    mean: float | None
    judge: float | None
    why: str = ""


def compute_human_ceiling(
    ratings: Sequence[Mapping[str, float]], predicted: OptionalValues | None = None
) -> HumanCeiling:
    """The ceiling of `ratings` (rater to value, by row), and what the judge's `predicted` values reach of it."""
    sides = _sides(ratings, predicted)
    found = {rater: pearson_statistic(own, rest).value() for rater, (own, rest, _) in sides.items()}
    counts = {rater: int((~np.isnan(own + rest)).sum()) for rater, (own, rest, _) in sides.items()}
    mean = ceiling_statistic(ratings).value()
    judge = float("nan") if predicted is None else judge_below_ceiling_statistic(ratings, predicted).value()
    return HumanCeiling(
        by_rater={rater: _or_none(value) for rater, value in found.items()},
        n=counts,
        mean=_or_none(mean),
        judge=_or_none(judge),
        why=WHY_NO_CEILING if np.isnan(mean) else "",
    )


def ceiling_statistic(ratings: Sequence[Mapping[str, float]]) -> Statistic:
    """The correlation of each rater with the mean of the others, averaged over raters."""
    return _mean_correlation_statistic([(own, rest) for own, rest, _ in _sides(ratings, None).values()], len(ratings))


def judge_below_ceiling_statistic(ratings: Sequence[Mapping[str, float]], predicted: OptionalValues) -> Statistic:
    """The judge's correlation with the mean of the others, on the rows of each rater, averaged over raters."""
    return _mean_correlation_statistic(
        [(said, rest) for _, rest, said in _sides(ratings, predicted).values()], len(ratings)
    )


def judge_over_ceiling_statistic(ratings: Sequence[Mapping[str, float]], predicted: OptionalValues) -> Statistic:
    """The judge's mean correlation divided by the human one.

    It exceeds 1 if the judge agrees with people better than they do with each other.
    """
    above, below = judge_below_ceiling_statistic(ratings, predicted), ceiling_statistic(ratings)
    return Statistic(
        lambda weights: safe_ratio(above.compute(weights), below.compute(weights)), below.present, WHY_NO_CEILING
    )


def _sides(
    ratings: Sequence[Mapping[str, float]], predicted: OptionalValues | None
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """By rater, for each row: the own value, the mean of the others, and the judge's value if both are present."""
    raters = sorted({rater for row in ratings for rater in row})
    table = np.array([[row.get(rater, np.nan) for rater in raters] for row in ratings], np.float64)
    table = table.reshape(len(ratings), len(raters))
    there = ~np.isnan(table)
    said = float_array(predicted) if predicted is not None else np.full(len(ratings), np.nan)
    found: dict[str, tuple[Floats, Floats, Floats]] = {}
    for place, rater in enumerate(raters):
        others = there.sum(1) - there[:, place]
        rest = np.nansum(np.delete(table, place, axis=1), axis=1)
        mean = np.where(others > 0, rest / np.maximum(others, 1), np.nan)
        own = table[:, place]
        found[rater] = own, mean, np.where(np.isnan(own), np.nan, said)
    return found


def _mean_correlation_statistic(columns: Sequence[tuple[Floats, Floats]], rows: int) -> Statistic:
    """The mean correlation of pairs of columns, over the pairs that have one."""
    present = np.zeros(rows, np.bool_)
    for one, other in columns:
        present |= ~np.isnan(one + other)
    parts = [(pearson_statistic(one, other), (~np.isnan(one + other))[present]) for one, other in columns]

    def of(weights: Floats) -> Floats:
        found = np.array([part.compute(weights[:, rows]) for part, rows in parts]).reshape(-1, len(weights))
        defined = ~np.isnan(found)
        return safe_ratio(np.where(defined, found, 0).sum(0), defined.sum(0).astype(np.float64))

    return Statistic(of, present, WHY_NO_CEILING)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


Metric = Literal["neg_rmse", "accuracy"]
RatingsByItem = Mapping[str, float | str | None]
"""Values by item: numbers, or for ``accuracy`` categories; ``None`` and nan are missing."""

LEAST_ITEMS = 30
LEAST_HUMANS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class LeftOutAnnotator:
    """A person who was left out: `items` compared, and the proportions on which each was as near or nearer.

    `judge_advantage` and `human_advantage` both count ties. `p` belongs to the hypothesis that the person's proportion
    exceeds the judge's by epsilon or more; `wins` says whether it was rejected, with all people considered. `test` is
    ``t``, or ``wilcoxon`` (signed ranks) for fewer than 30 items, as the authors advise.
    """

    name: str
    items: int
    judge_advantage: float
    human_advantage: float
    p: float
    wins: bool
    test: Literal["t", "wilcoxon"]


@dataclass(frozen=True)
class AlternativeTestResult:
    """The result: the proportion of people the judge wins against, and how often it is as good as one of them.

    `advantage` is the mean over people of `judge_advantage`; use it to compare judges. ``None`` if nobody could be
    compared, with the reason `why`. `warnings` list the limits of the result.
    """

    opponents: tuple[LeftOutAnnotator, ...]
    winning_rate: float | None
    advantage: float | None
    passes: bool | None
    epsilon: float
    q: float
    warnings: tuple[str, ...] = ()
    why: str = ""


def alternative_annotator_test(
    humans: Mapping[str, RatingsByItem],
    judge: RatingsByItem,
    *,
    epsilon: float,
    q: float = 0.05,
    metric: Metric = "neg_rmse",
) -> AlternativeTestResult:
    """The test of `judge` (item to value) against `humans` (person to item to value).

    Nearness is the root mean squared distance to the others (``neg_rmse``), or the proportion of them with the same
    value (``accuracy``). Only items that the judge and at least two people rated count. The authors advise an `epsilon`
    of 0.2 for experts, 0.15 for skilled annotators and 0.1 for a crowd, and less if people agree little.

    Raises:
        ValueError: A value is a category, but `metric` needs numbers.
        InstallationError: Somebody rated fewer than 30 items, and scipy is not installed.
    """
    everything = [*judge.values(), *(value for values in humans.values() for value in values.values())]
    if metric != "accuracy" and any(isinstance(value, str) for value in everything):
        raise ValueError(f"{metric} is of numbers: compare categories by accuracy")
    table, judge_values = _table(humans, judge)
    compared = [_compare_annotator(name, row, np.delete(table, at, axis=0), judge_values, epsilon, metric)
             for at, (name, row) in enumerate(zip(humans, table, strict=True))]  # fmt: skip
    met = [opponent for opponent in compared if opponent is not None]
    warnings = _warnings(met, [name for name, opponent in zip(humans, compared, strict=True) if opponent is None])
    if not met:
        why = "no item was rated by the judge and by at least two people"
        return AlternativeTestResult((), None, None, None, epsilon, q, warnings, why)
    won = benjamini_yekutieli([opponent.p for opponent in met], q)
    opponents = tuple(replace(opponent, wins=bool(wins)) for opponent, wins in zip(met, won, strict=True))
    rate = float(won.mean())
    advantage = float(np.mean([opponent.judge_advantage for opponent in met]))
    return AlternativeTestResult(opponents, rate, advantage, rate >= 0.5, epsilon, q, warnings)


def benjamini_yekutieli(p: Sequence[float], q: float) -> Bools:
    """Which hypotheses are rejected at false discovery rate `q`, for any dependence of the tests.

    Benjamini and Yekutieli (2001): the k smallest, for the last k whose p is at most k q / (m (1 + 1/2 + ... + 1/m)).
    """
    values = np.asarray(p, np.float64)
    ranks = np.arange(1, len(values) + 1)
    order = np.argsort(values, kind="stable")
    below = np.flatnonzero(values[order] <= ranks * q / (len(values) * (1 / ranks).sum())) if len(values) else ranks
    rejected = np.zeros(len(values), np.bool_)
    if len(below):
        rejected[order[: below[-1] + 1]] = True
    return rejected


def _table(humans: Mapping[str, RatingsByItem], judge: RatingsByItem) -> tuple[Floats, Floats]:
    """The values by person and item, and the judge's; nan is missing, categories are numbered."""
    items = sorted({item for values in humans.values() for item in values} & set(judge))
    codes: dict[str, float] = {}

    def number(value: float | str | None) -> float:
        if isinstance(value, str):
            return codes.setdefault(value, float(len(codes)))
        return np.nan if value is None else value

    rows = [[number(values.get(item)) for item in items] for values in humans.values()]
    table = np.array(rows, np.float64).reshape(len(humans), len(items))
    return table, np.array([number(judge[item]) for item in items], np.float64)


def _compare_annotator(
    name: str, own: Floats, others: Floats, judge_values: Floats, epsilon: float, metric: Metric
) -> LeftOutAnnotator | None:
    counts = (~np.isnan(others)).sum(0)
    rows = ~np.isnan(own) & ~np.isnan(judge_values) & (counts > 0)
    if not rows.any():
        return None
    human = _nearness(own[rows], others[:, rows], counts[rows], metric)
    judge = _nearness(judge_values[rows], others[:, rows], counts[rows], metric)
    judge_near, human_near = judge >= human - _ROUNDING, human >= judge - _ROUNDING
    ahead = human_near.astype(np.float64) - judge_near
    test: Literal["t", "wilcoxon"] = "t" if len(ahead) >= LEAST_ITEMS else "wilcoxon"
    p = _p(ahead, epsilon, test)
    return LeftOutAnnotator(name, len(ahead), float(judge_near.mean()), float(human_near.mean()), p, False, test)


def _nearness(values: Floats, others: Floats, counts: NDArray[np.int64], metric: Metric) -> Floats:
    if metric == "accuracy":
        return (np.abs(others - values) <= _ROUNDING).sum(0) / counts
    return -np.sqrt(np.nansum((others - values) ** 2, axis=0) / counts)


def _p(ahead: Floats, epsilon: float, test: Literal["t", "wilcoxon"]) -> float:
    """The p value of the hypothesis that the mean (or centre) of `ahead` is epsilon or more."""
    if test == "t" and ahead.min() == ahead.max():
        return 0.0 if ahead[0] < epsilon else 1.0
    if test == "t":
        error = ahead.std(ddof=1) / sqrt(len(ahead))
        return probability_below(float((ahead.mean() - epsilon) / error), len(ahead) - 1)
    shifted = ahead - epsilon
    if not shifted.any():
        return 1.0
    return float(_scipy_stats().wilcoxon(shifted, alternative="less", method="asymptotic").pvalue)


def _warnings(met: Sequence[LeftOutAnnotator], unmet: Sequence[str]) -> tuple[str, ...]:
    warnings = [f"{name} shares no item with the judge and another person, and is left out" for name in unmet]
    warnings += [
        f"{opponent.name} rated {opponent.items} items; a t test needs {LEAST_ITEMS}, so signed ranks are used"
        for opponent in met
        if opponent.items < LEAST_ITEMS
    ]
    if len(met) < LEAST_HUMANS:
        warnings.append(f"{len(met)} people are fewer than the {LEAST_HUMANS} that the test's authors advise")
    return tuple(warnings)


def _scipy_stats() -> Any:
    with imports_of("judge", "the alternative annotator test"):
        from scipy import stats
    return stats
