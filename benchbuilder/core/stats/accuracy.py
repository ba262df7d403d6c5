"""Scores cast into yes and no: accuracy, its balanced form, the area under the ROC curve, and what is near the border.

The tie rule, everywhere: a value equal to the threshold counts as positive (``>=``). A value that lies below by no
more than 1e-9 counts as equal, so that the mean of 0.35, 0.55 and 0.6 is 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchbuilder.core.stats.ranks import Ties
from benchbuilder.core.stats.weighted import (
    Bools,
    Floats,
    Statistic,
    Values,
    numbers,
    of_mean,
    of_sums,
    pairs,
    ratio,
)

THRESHOLD = 0.5
ROUNDING = 1e-9
NO_VALUE = "there is no value"
ONE_CLASS = "all targets are on the same side of the threshold"


@dataclass(frozen=True)
class Confusion:
    """How many rows are predicted and are positive: right and wrong, after casting at the same threshold."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


def cast(values: Values, threshold: float = THRESHOLD) -> Bools:
    """Whether each value is positive: at least the threshold. Missing values are not positive."""
    return numbers(values) >= threshold - ROUNDING


def accuracy(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> float:
    """Share of rows whose prediction is on the same side as the target, after casting both; nan of no rows."""
    return of_accuracy(predicted, targets, threshold).value()


def balanced_accuracy(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> float:
    """The mean of the accuracy on positive and on negative targets; nan where one of the two is missing."""
    return of_balanced_accuracy(predicted, targets, threshold).value()


def auroc(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> float:
    """How often a positive target has a higher prediction than a negative one; an equal one counts half.

    Only targets are cast. nan where all are on the same side.
    """
    return of_auroc(predicted, targets, threshold).value()


def confusion(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> Confusion:
    """The table behind the accuracies, of the rows where neither is missing."""
    one, other, _ = pairs(predicted, targets)
    said, true = cast(one, threshold), cast(other, threshold)
    cells = (said & true, said & ~true, ~said & true, ~said & ~true)
    return Confusion(*(int(cell.sum()) for cell in cells))


def share_near(values: Values, centre: float = THRESHOLD, width: float = 0.05) -> float:
    """Share of the values no further than `width` from `centre`, both ends included; nan of none."""
    return of_share_near(values, centre, width).value()


def majority(targets: Values, threshold: float = THRESHOLD) -> float:
    """What the majority baseline predicts everywhere: 1 or 0, by where most targets are; 1 if there are as many.

    nan of no targets.
    """
    found = numbers(targets)
    kept = found[~np.isnan(found)]
    return float(cast(kept, threshold).mean() >= 0.5) if len(kept) else float("nan")


def mean_predictor(targets: Values) -> float:
    """What the mean baseline predicts everywhere; nan of no targets."""
    return of_mean(targets).value()


def of_accuracy(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> Statistic:
    """Accuracy of weighted rows."""
    one, other, present = pairs(predicted, targets)
    right = cast(one, threshold) == cast(other, threshold)
    columns = [np.ones(len(one)), right.astype(np.float64)]
    return of_sums(columns, lambda sums: ratio(sums[:, 1], sums[:, 0]), present, NO_VALUE)


def of_balanced_accuracy(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> Statistic:
    """Balanced accuracy of weighted rows."""
    one, other, present = pairs(predicted, targets)
    said, true = cast(one, threshold), cast(other, threshold)
    cells = [true, true & said, ~true, ~true & ~said]

    def of(sums: Floats) -> Floats:
        return (ratio(sums[:, 1], sums[:, 0]) + ratio(sums[:, 3], sums[:, 2])) / 2

    return of_sums([cell.astype(np.float64) for cell in cells], of, present, ONE_CLASS)


def of_auroc(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> Statistic:
    """The area under the ROC curve of weighted rows."""
    one, other, present = pairs(predicted, targets)
    true, ties = cast(other, threshold), Ties(one)

    def of(weights: Floats) -> Floats:
        positive = ties.sums(np.where(true, weights, 0))
        negative = ties.sums(np.where(true, 0, weights))
        below = negative.cumsum(1) - negative / 2
        return ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1))

    return Statistic(of, present, ONE_CLASS)


def of_share_near(values: Values, centre: float = THRESHOLD, width: float = 0.05) -> Statistic:
    """Share of weighted rows near `centre`."""
    found = numbers(values)
    near = (np.abs(found - centre) <= width + ROUNDING).astype(np.float64)
    return of_mean(np.where(np.isnan(found), np.nan, near), NO_VALUE)
