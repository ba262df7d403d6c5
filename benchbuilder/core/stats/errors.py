"""How far predictions lie from their targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.accuracy import NO_VALUE, ROUNDING
from benchbuilder.core.stats.weighted import Floats, Statistic, Values, numbers, of_sums, pairs, ratio

BINS = 5
SAME_BIN = "all predictions and targets fall into the same bin"


def mae(predicted: Values, targets: Values) -> float:
    """Mean absolute error; nan of no rows."""
    return of_mae(predicted, targets).value()


def rmse(predicted: Values, targets: Values) -> float:
    """Root of the mean squared error; nan of no rows."""
    return of_rmse(predicted, targets).value()


def bias(predicted: Values, targets: Values) -> float:
    """Mean of prediction less target: positive for a lenient judge; nan of no rows."""
    return of_bias(predicted, targets).value()


def quadratic_weighted_kappa(predicted: Values, targets: Values, bins: int = BINS) -> float:
    """Cohen's kappa with quadratic weights, after both went into `bins` of :func:`binned`.

    nan where all predictions and all targets fall into one and the same bin.
    """
    return of_quadratic_weighted_kappa(predicted, targets, bins).value()


def binned(values: Values, bins: int = BINS) -> NDArray[np.int64]:
    """The number from 0 of the bin of each value, `bins` equally wide ones from 0 to 1.

    A value on a border belongs to the bin above, 1 to the last; what lies outside of 0 to 1 to the nearest bin.

    Raises:
        ValueError: a value is missing.
    """
    found = numbers(values)
    if np.isnan(found).any():
        raise ValueError("a missing value belongs to no bin")
    return np.clip(np.floor(found * bins + ROUNDING), 0, bins - 1).astype(np.int64)


def of_mae(predicted: Values, targets: Values) -> Statistic:
    """Mean absolute error of weighted rows."""
    return _of_mean_error(predicted, targets, np.abs)


def of_rmse(predicted: Values, targets: Values) -> Statistic:
    """Root mean squared error of weighted rows."""
    squares = _of_mean_error(predicted, targets, np.square)
    return Statistic(lambda weights: np.sqrt(squares.of(weights)), squares.present, squares.why)


def of_bias(predicted: Values, targets: Values) -> Statistic:
    """Bias of weighted rows."""
    return _of_mean_error(predicted, targets, np.positive)


def of_quadratic_weighted_kappa(predicted: Values, targets: Values, bins: int = BINS) -> Statistic:
    """Quadratic weighted kappa of weighted rows."""
    one, other, present = pairs(predicted, targets)
    first, second = binned(one, bins), binned(other, bins)
    eye, places = np.eye(bins), np.arange(bins)
    squares = np.subtract.outer(places, places) ** 2.0
    columns = [np.ones(len(one)), ((first - second) ** 2).astype(np.float64), *eye[first].T, *eye[second].T]

    def of(sums: Floats) -> Floats:
        rows, across = sums[:, 2 : 2 + bins], sums[:, 2 + bins :]
        expected = ((rows @ squares) * across).sum(1)
        return 1 - ratio(sums[:, 1] * sums[:, 0], expected)

    return of_sums(columns, of, present, SAME_BIN)


def _of_mean_error(predicted: Values, targets: Values, of: Callable[[Floats], Floats]) -> Statistic:
    one, other, present = pairs(predicted, targets)
    columns = [np.ones(len(one)), of(one - other)]
    return of_sums(columns, lambda sums: ratio(sums[:, 1], sums[:, 0]), present, NO_VALUE)
