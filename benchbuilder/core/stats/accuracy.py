"""Scores cast into yes and no: accuracy, its balanced form, the area under the ROC curve, and what is near the border.

The tie rule, everywhere: a value equal to the threshold counts as positive (``>=``). A value that lies below by no
more than 1e-9 counts as equal, so that the mean of 0.35, 0.55 and 0.6 is 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchbuilder.core.stats.ranks import TieGroups
from benchbuilder.core.stats.weighted import (
    Bools,
    Floats,
    OptionalValues,
    Statistic,
    complete_pairs,
    float_array,
    mean_statistic,
    safe_ratio,
    statistic_of_sums,
)

DEFAULT_THRESHOLD = 0.5
ROUNDING_TOLERANCE = 1e-9
WHY_NO_VALUE = "there is no value"
WHY_ONE_CLASS = "all targets are on the same side of the threshold"


@dataclass(frozen=True)
class ConfusionCounts:
    """How many rows are predicted and are positive: right and wrong, after casting at the same threshold."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


def apply_threshold(values: OptionalValues, threshold: float = DEFAULT_THRESHOLD) -> Bools:
    """Whether each value is positive: at least the threshold. Missing values are not positive."""
    return float_array(values) >= threshold - ROUNDING_TOLERANCE


def accuracy_score(predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD) -> float:
    """Share of rows whose prediction is on the same side as the target, after casting both; nan of no rows."""
    return accuracy_statistic(predicted, targets, threshold).value()


def balanced_accuracy(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> float:
    """The mean of the accuracy on positive and on negative targets; nan where one of the two is missing."""
    return balanced_accuracy_statistic(predicted, targets, threshold).value()


def auroc(predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD) -> float:
    """How often a positive target has a higher prediction than a negative one; an equal one counts half.

    Only targets are cast. nan where all are on the same side.
    """
    return auroc_statistic(predicted, targets, threshold).value()


def confusion_counts(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> ConfusionCounts:
    """The table behind the accuracies, of the rows where neither is missing."""
    one, other, _ = complete_pairs(predicted, targets)
    said, true = apply_threshold(one, threshold), apply_threshold(other, threshold)
    cells = (said & true, said & ~true, ~said & true, ~said & ~true)
    return ConfusionCounts(*(int(cell.sum()) for cell in cells))


def proportion_near(values: OptionalValues, centre: float = DEFAULT_THRESHOLD, width: float = 0.05) -> float:
    """Share of the values no further than `width` from `centre`, both ends included; nan of none."""
    return proportion_near_statistic(values, centre, width).value()


def majority_prediction(targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD) -> float:
    """What the majority baseline predicts everywhere: 1 or 0, by where most targets are; 1 if there are as many.

    nan of no targets.
    """
    found = float_array(targets)
    kept = found[~np.isnan(found)]
    return float(apply_threshold(kept, threshold).mean() >= 0.5) if len(kept) else float("nan")


def mean_prediction(targets: OptionalValues) -> float:
    """What the mean baseline predicts everywhere; nan of no targets."""
    return mean_statistic(targets).value()


def accuracy_statistic(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> Statistic:
    """Accuracy of weighted rows."""
    one, other, present = complete_pairs(predicted, targets)
    right = apply_threshold(one, threshold) == apply_threshold(other, threshold)
    columns = [np.ones(len(one)), right.astype(np.float64)]
    return statistic_of_sums(columns, lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, WHY_NO_VALUE)


def balanced_accuracy_statistic(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> Statistic:
    """Balanced accuracy of weighted rows."""
    one, other, present = complete_pairs(predicted, targets)
    said, true = apply_threshold(one, threshold), apply_threshold(other, threshold)
    cells = [true, true & said, ~true, ~true & ~said]

    def of(sums: Floats) -> Floats:
        return (safe_ratio(sums[:, 1], sums[:, 0]) + safe_ratio(sums[:, 3], sums[:, 2])) / 2

    return statistic_of_sums([cell.astype(np.float64) for cell in cells], of, present, WHY_ONE_CLASS)


def auroc_statistic(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> Statistic:
    """The area under the ROC curve of weighted rows."""
    one, other, present = complete_pairs(predicted, targets)
    true, ties = apply_threshold(other, threshold), TieGroups(one)

    def of(weights: Floats) -> Floats:
        positive = ties.sums(np.where(true, weights, 0))
        negative = ties.sums(np.where(true, 0, weights))
        below = negative.cumsum(1) - negative / 2
        return safe_ratio((positive * below).sum(1), positive.sum(1) * negative.sum(1))

    return Statistic(of, present, WHY_ONE_CLASS)


def proportion_near_statistic(
    values: OptionalValues, centre: float = DEFAULT_THRESHOLD, width: float = 0.05
) -> Statistic:
    """Share of weighted rows near `centre`."""
    found = float_array(values)
    near = (np.abs(found - centre) <= width + ROUNDING_TOLERANCE).astype(np.float64)
    return mean_statistic(np.where(np.isnan(found), np.nan, near), WHY_NO_VALUE)
