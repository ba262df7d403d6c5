"""Whether a score can be read as the probability that the target is positive (on or above the threshold)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.accuracy import DEFAULT_THRESHOLD, WHY_NO_VALUE, apply_threshold
from benchbuilder.core.stats.ranks import TieGroups
from benchbuilder.core.stats.weighted import (
    Floats,
    OptionalValues,
    Statistic,
    complete_pairs,
    mean_statistic,
    safe_ratio,
    statistic_of_sums,
)

CALIBRATION_BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """The `n` rows whose predictions lie from `low` to `high`, and what was the case there, in the mean."""

    low: float
    high: float
    n: int
    mean_predicted: float
    share_positive: float
    mean_target: float


def ece(
    predicted: OptionalValues,
    targets: OptionalValues,
    bins: int = CALIBRATION_BINS,
    threshold: float = DEFAULT_THRESHOLD,
) -> float:
    """Expected calibration error: the distance of the mean prediction from the share of positives, mean over rows.

    Bins have the same number of rows, as nearly as equal predictions, which stay together, allow. nan of no rows.
    """
    return ece_statistic(predicted, targets, bins, threshold).value()


def brier(predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD) -> float:
    """The Brier score: mean squared distance of the prediction from 1 for positive and 0 for other targets."""
    return brier_statistic(predicted, targets, threshold).value()


def reliability_bins(
    predicted: OptionalValues,
    targets: OptionalValues,
    bins: int = CALIBRATION_BINS,
    threshold: float = DEFAULT_THRESHOLD,
) -> list[ReliabilityBin]:
    """The bins of :func:`ece` that have rows, from the lowest predictions to the highest."""
    one, other, _ = complete_pairs(predicted, targets)
    place, positive = _bin_numbers(one, bins), apply_threshold(other, threshold)
    found = [place == number for number in range(bins)]
    return [
        ReliabilityBin(
            low=float(one[rows].min()),
            high=float(one[rows].max()),
            n=int(rows.sum()),
            mean_predicted=float(one[rows].mean()),
            share_positive=float(positive[rows].mean()),
            mean_target=float(other[rows].mean()),
        )
        for rows in found
        if rows.any()
    ]


def ece_statistic(
    predicted: OptionalValues,
    targets: OptionalValues,
    bins: int = CALIBRATION_BINS,
    threshold: float = DEFAULT_THRESHOLD,
) -> Statistic:
    """ECE of weighted rows, whose bins are those of all rows with weight 1.

    It cannot fall below zero, so chance alone puts it above: few rows in a bin look badly calibrated.
    """
    one, other, present = complete_pairs(predicted, targets)
    inside = np.eye(bins)[_bin_numbers(one, bins)].T
    gaps = one - apply_threshold(other, threshold)
    return statistic_of_sums(
        [np.ones(len(one)), *(inside * gaps)],
        lambda sums: safe_ratio(np.abs(sums[:, 1:]).sum(1), sums[:, 0]),
        present,
        WHY_NO_VALUE,
    )


def brier_statistic(
    predicted: OptionalValues, targets: OptionalValues, threshold: float = DEFAULT_THRESHOLD
) -> Statistic:
    """The Brier score of weighted rows."""
    one, other, present = complete_pairs(predicted, targets)
    squares = np.full(len(present), np.nan)
    squares[present] = (one - apply_threshold(other, threshold)) ** 2
    return mean_statistic(squares, WHY_NO_VALUE)


def _bin_numbers(predicted: Floats, bins: int) -> NDArray[np.int64]:
    """The bin of each row, by the middle of the ranks that equal predictions share."""
    if not len(predicted):
        return np.zeros(0, np.int64)
    ranks = TieGroups(predicted).mid_ranks(np.ones((1, len(predicted))))[0]
    return np.floor((ranks - 0.5) * bins / len(predicted)).astype(np.int64)
