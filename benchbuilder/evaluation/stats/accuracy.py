"""Statistics of thresholded scores: accuracy, balanced accuracy, area under the ROC curve, values near the threshold.

A value equal to the threshold counts as positive (``>=``). A value below it by at most 1e-9 counts as equal, so that
the mean of 0.35, 0.55 and 0.6 is 0.5. Rows where a value is missing are left out.
"""

from __future__ import annotations

import numpy as np

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.ranks import TieGroups
from benchbuilder.evaluation.stats.statistic import (
    Bools,
    OptionalValues,
    Statistic,
    complete_pairs,
    float_array,
    mean_statistic,
    statistic_of_sums,
)

DEFAULT_THRESHOLD = 0.5
ROUNDING_TOLERANCE = 1e-9
WHY_NO_VALUE = "there is no value"
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
