"""Accuracy and calibration of scores against human scores, as statistics."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.agreement import TieGroups
from benchbuilder.evaluation.stats.statistic import (
    ROUNDING_TOLERANCE,
    WHY_NO_VALUE,
    Bools,
    OptionalValues,
    Statistic,
    complete_pairs,
    float_array,
    mean_statistic,
    statistic_of_sums,
)

DEFAULT_THRESHOLD = 0.5
WHY_ONE_CLASS = "all targets are on the same side of the threshold"


def apply_threshold(values: OptionalValues) -> Bools:
    """Whether each value is positive: at least 0.5. Missing values are not positive."""
    return float_array(values) >= DEFAULT_THRESHOLD - ROUNDING_TOLERANCE


def accuracy_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Proportion of rows whose prediction is on the same side of the threshold as the target."""
    scores, truths, present = complete_pairs(predicted, targets)
    right = apply_threshold(scores) == apply_threshold(truths)
    columns = [np.ones(len(scores)), right.astype(np.float64)]
    return statistic_of_sums(columns, lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, WHY_NO_VALUE)


def balanced_accuracy_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """The mean of the accuracy on positive and on negative targets; undefined if one of the two is missing."""
    scores, truths, present = complete_pairs(predicted, targets)
    predicted_positive, true = apply_threshold(scores), apply_threshold(truths)
    cells = [true, true & predicted_positive, ~true, ~true & ~predicted_positive]

    def of(sums: Floats) -> Floats:
        return (safe_ratio(sums[:, 1], sums[:, 0]) + safe_ratio(sums[:, 3], sums[:, 2])) / 2

    return statistic_of_sums([cell.astype(np.float64) for cell in cells], of, present, WHY_ONE_CLASS)


def auroc_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """How often a positive target has a higher prediction than a negative one; equal ones count half.

    Only targets are thresholded. Undefined if all are on the same side.
    """
    scores, truths, present = complete_pairs(predicted, targets)
    true, ties = apply_threshold(truths), TieGroups(scores)

    def of(weights: Floats) -> Floats:
        positive = ties.sums(np.where(true, weights, 0))
        negative = ties.sums(np.where(true, 0, weights))
        below = negative.cumsum(1) - negative / 2
        return safe_ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1))

    return Statistic(of, present, WHY_ONE_CLASS)


def proportion_near_statistic(values: OptionalValues, centre: float, width: float) -> Statistic:
    """Proportion of values at most `width` from `centre`, both ends included."""
    numbers = float_array(values)
    near = (np.abs(numbers - centre) <= width + ROUNDING_TOLERANCE).astype(np.float64)
    return mean_statistic(np.where(np.isnan(numbers), np.nan, near), WHY_NO_VALUE)


CALIBRATION_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """The `n` rows whose predictions lie from `low` to `high`, with their means."""

    low: float
    high: float
    n: int
    mean_predicted: float
    share_positive: float
    mean_target: float


def reliability_bins(
    predicted: OptionalValues, targets: OptionalValues, bins: int = CALIBRATION_BINS
) -> list[ReliabilityBin]:
    """The bins that have rows, from the lowest predictions to the highest.

    Bins have the same number of rows, as nearly as equal predictions, which stay together, allow.
    """
    one, other, _ = complete_pairs(predicted, targets)
    place, positive = _bin_numbers(one, bins), apply_threshold(other)
    members = [place == number for number in range(bins)]
    return [
        ReliabilityBin(
            low=float(one[rows].min()),
            high=float(one[rows].max()),
            n=int(rows.sum()),
            mean_predicted=float(one[rows].mean()),
            share_positive=float(positive[rows].mean()),
            mean_target=float(other[rows].mean()),
        )
        for rows in members
        if rows.any()
    ]


def ece_statistic(predicted: OptionalValues, targets: OptionalValues, bins: int = CALIBRATION_BINS) -> Statistic:
    """Expected calibration error: distance of mean prediction and proportion of positives in a bin, mean over rows.

    Bins are those of all rows with weight 1. The error cannot fall below zero, so chance alone raises it: few rows in a
    bin look badly calibrated.
    """
    one, other, present = complete_pairs(predicted, targets)
    inside = np.eye(bins)[_bin_numbers(one, bins)].T
    gaps = one - apply_threshold(other)
    return statistic_of_sums(
        [np.ones(len(one)), *(inside * gaps)],
        lambda sums: safe_ratio(np.abs(sums[:, 1:]).sum(1), sums[:, 0]),
        present,
        WHY_NO_VALUE,
    )


def brier_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """The Brier score: mean squared distance of the prediction from 1 for positive and 0 for other targets."""
    one, other, present = complete_pairs(predicted, targets)
    squares = np.full(len(present), np.nan)
    squares[present] = (one - apply_threshold(other)) ** 2
    return mean_statistic(squares, WHY_NO_VALUE)


def _bin_numbers(predicted: Floats, bins: int) -> NDArray[np.int64]:
    """The bin of each row, by rank; equal predictions share their middle rank."""
    if not len(predicted):
        return np.zeros(0, np.int64)
    ranks = TieGroups(predicted).mid_ranks(np.ones((1, len(predicted))))[0]
    return np.floor((ranks - 0.5) * bins / len(predicted)).astype(np.int64)


@dataclass(frozen=True)
class HalfWidth:
    """The half width of intervals at `level`, from `n` residuals; ``None`` with `why` if there are too few."""

    value: float | None
    level: float
    n: int
    why: str = ""


def conformal_half_width(residuals: OptionalValues, level: float) -> HalfWidth:
    """The half width of split-conformal intervals, from the `residuals` of rows that the judge was not trained on.

    It is the ceil((n + 1) * `level`)-th smallest of the n absolute residuals that are not missing. If a new row is
    exchangeable with these, its interval holds the people's value with probability `level` or more, for any judge
    (Vovk et al. 2005; Lei et al. 2018). Rows of one question are not independent, and a new question differs from old
    ones.
    """
    distances = np.abs(float_array(residuals))
    sizes = np.sort(distances[~np.isnan(distances)])
    n = len(sizes)
    place = ceil((n + 1) * level - 1e-9)
    if place > n:
        least = ceil(level / (1 - level) - 1e-9)
        return HalfWidth(
            None, level, n, f"{n} residuals are too few for a level of {level:g}: at least {least} are needed"
        )
    return HalfWidth(float(sizes[max(place, 1) - 1]), level, n)


def conformal_interval(score: float, half: float) -> tuple[float, float]:
    """The interval of a `score`, clipped to 0 to 1."""
    return min(max(score - half, 0.0), 1.0), max(min(score + half, 1.0), 0.0)
