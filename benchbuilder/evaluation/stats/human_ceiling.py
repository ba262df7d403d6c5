"""The human ceiling: how well a person predicts the others' ratings, which is the best that a judge can hope for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.correlation import pearson_statistic
from benchbuilder.evaluation.stats.statistic import OptionalValues, Statistic, float_array

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
