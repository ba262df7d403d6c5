"""How far predictions lie from their targets, and whether they hardly depend on their input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.accuracy import ROUNDING_TOLERANCE, WHY_NO_VALUE
from benchbuilder.evaluation.stats.correlation import pearson
from benchbuilder.evaluation.stats.statistic import (
    OptionalValues,
    Statistic,
    centre_values,
    complete_pairs,
    float_array,
    statistic_of_sums,
)

KAPPA_BINS = 5
WHY_SAME_BIN = "all predictions and targets fall into the same bin"


def bin_numbers(values: OptionalValues) -> NDArray[np.int64]:
    """The bin (from 0) of each value, of `KAPPA_BINS` bins of equal width from 0 to 1.

    A value on a border belongs to the bin above, and 1 to the last. Values outside 0 to 1 belong to the nearest bin.

    Raises:
        ValueError: A value is missing.
    """
    numbers = float_array(values)
    if np.isnan(numbers).any():
        raise ValueError("a missing value belongs to no bin")
    return np.clip(np.floor(numbers * KAPPA_BINS + ROUNDING_TOLERANCE), 0, KAPPA_BINS - 1).astype(np.int64)


def mae_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Mean absolute error."""
    return _mean_error_statistic(predicted, targets, np.abs)


def rmse_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Root of the mean squared error."""
    squares = _mean_error_statistic(predicted, targets, np.square)
    return Statistic(lambda weights: np.sqrt(squares.compute(weights)), squares.present, squares.why)


def bias_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Mean of prediction minus target: positive for a lenient judge."""
    return _mean_error_statistic(predicted, targets, np.positive)


def quadratic_weighted_kappa_statistic(predicted: OptionalValues, targets: OptionalValues) -> Statistic:
    """Cohen's kappa with quadratic weights of the binned values (see `bin_numbers`).

    Undefined where all predictions and targets fall into one bin.
    """
    one, other, present = complete_pairs(predicted, targets)
    first, second = bin_numbers(one), bin_numbers(other)
    eye, places = np.eye(KAPPA_BINS), np.arange(KAPPA_BINS)
    squares = np.subtract.outer(places, places) ** 2.0
    columns = [np.ones(len(one)), ((first - second) ** 2).astype(np.float64), *eye[first].T, *eye[second].T]

    def of(sums: Floats) -> Floats:
        rows, across = sums[:, 2 : 2 + KAPPA_BINS], sums[:, 2 + KAPPA_BINS :]
        expected = ((rows @ squares) * across).sum(1)
        return 1 - safe_ratio(sums[:, 1] * sums[:, 0], expected)

    return statistic_of_sums(columns, of, present, WHY_SAME_BIN)


def _mean_error_statistic(
    predicted: OptionalValues, targets: OptionalValues, of: Callable[[Floats], Floats]
) -> Statistic:
    one, other, present = complete_pairs(predicted, targets)
    columns = [np.ones(len(one)), of(one - other)]
    return statistic_of_sums(columns, lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, WHY_NO_VALUE)


LEAST_SD = 0.02


@dataclass(frozen=True)
class ConstantPredictor:
    """The predictions are (nearly) constant: their standard deviation `sd` over `n` rows, and the reason `why`."""

    sd: float
    n: int
    why: str


def check_constant_predictor(predicted: OptionalValues, targets: OptionalValues) -> ConstantPredictor | None:
    """The finding if predictions vary by less than `LEAST_SD` (divisor n), or cannot be correlated with the targets.

    ``None`` if all is well, or nothing was predicted. Rows where a value is missing are left out.
    """
    one, other, _ = complete_pairs(predicted, targets)
    if not len(one):
        return None
    sd = float(centre_values(one).std())
    if one.min() == one.max():
        return ConstantPredictor(sd, len(one), f"every prediction is {one[0]:.3f}")
    if sd < LEAST_SD:
        return ConstantPredictor(
            sd, len(one), f"the predictions hardly vary: their standard deviation {sd:.4f} is below {LEAST_SD:g}"
        )
    if np.isnan(pearson(one, other)):
        return ConstantPredictor(sd, len(one), "there is no correlation: every target is the same")
    return None
