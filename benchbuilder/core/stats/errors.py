"""How far predictions lie from their targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.accuracy import ROUNDING_TOLERANCE, WHY_NO_VALUE
from benchbuilder.core.stats.weighted import (
    Floats,
    OptionalValues,
    Statistic,
    complete_pairs,
    float_array,
    safe_ratio,
    statistic_of_sums,
)

KAPPA_BINS = 5
WHY_SAME_BIN = "all predictions and targets fall into the same bin"


def mae(predicted: OptionalValues, targets: OptionalValues) -> float:
    """Mean absolute error; nan of no rows."""
    return mae_statistic(predicted, targets).value()


def rmse(predicted: OptionalValues, targets: OptionalValues) -> float:
    """Root of the mean squared error; nan of no rows."""
    return rmse_statistic(predicted, targets).value()


def mean_bias(predicted: OptionalValues, targets: OptionalValues) -> float:
    """Mean of prediction less target: positive for a lenient judge; nan of no rows."""
    return bias_statistic(predicted, targets).value()


def quadratic_weighted_kappa(predicted: OptionalValues, targets: OptionalValues, bins: int = KAPPA_BINS) -> float:
    """Cohen's kappa with quadratic weights, after both went into `bins` of :func:`bin_numbers`.

    nan where all predictions and all targets fall into one and the same bin.
    """
    return quadratic_weighted_kappa_statistic(predicted, targets, bins).value()


def bin_numbers(values: OptionalValues, bins: int = KAPPA_BINS) -> NDArray[np.int64]:
    """The number from 0 of the bin of each value, `bins` equally wide ones from 0 to 1.

    A value on a border belongs to the bin above, 1 to the last; what lies outside of 0 to 1 to the nearest bin.

    Raises:
        ValueError: a value is missing.
    """
    found = float_array(values)
    if np.isnan(found).any():
        raise ValueError("a missing value belongs to no bin")
    return np.clip(np.floor(found * bins + ROUNDING_TOLERANCE), 0, bins - 1).astype(np.int64)


def mae_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Mean absolute error of weighted rows."""
    return _mean_error_statistic(predicted, targets, np.abs)


def rmse_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Root mean squared error of weighted rows."""
    squares = _mean_error_statistic(predicted, targets, np.square)
    return Statistic(lambda weights: np.sqrt(squares.compute(weights)), squares.present, squares.why)


def bias_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Bias of weighted rows."""
    return _mean_error_statistic(predicted, targets, np.positive)


def quadratic_weighted_kappa_statistic(
    predicted: OptionalValues, targets: OptionalValues, bins: int = KAPPA_BINS
) -> Statistic:
    """Quadratic weighted kappa of weighted rows."""
    one, other, present = complete_pairs(predicted, targets)
    first, second = bin_numbers(one, bins), bin_numbers(other, bins)
    eye, places = np.eye(bins), np.arange(bins)
    squares = np.subtract.outer(places, places) ** 2.0
    columns = [np.ones(len(one)), ((first - second) ** 2).astype(np.float64), *eye[first].T, *eye[second].T]

    def of(sums: Floats) -> Floats:
        rows, across = sums[:, 2 : 2 + bins], sums[:, 2 + bins :]
        expected = ((rows @ squares) * across).sum(1)
        return 1 - safe_ratio(sums[:, 1] * sums[:, 0], expected)

    return statistic_of_sums(columns, of, present, WHY_SAME_BIN)


def _mean_error_statistic(
    predicted: OptionalValues, targets: OptionalValues, of: Callable[[Floats], Floats]
) -> Statistic:
    one, other, present = complete_pairs(predicted, targets)
    columns = [np.ones(len(one)), of(one - other)]
    return statistic_of_sums(columns, lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, WHY_NO_VALUE)
