"""Whether a score can be read as the probability that the target is positive (on or above the threshold)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.accuracy import NO_VALUE, THRESHOLD, cast
from benchbuilder.core.stats.ranks import Ties
from benchbuilder.core.stats.weighted import Floats, Statistic, Values, of_mean, of_sums, pairs, ratio

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The `n` rows whose predictions lie from `low` to `high`, and what was the case there, in the mean."""

    low: float
    high: float
    n: int
    mean_predicted: float
    share_positive: float
    mean_target: float


def ece(predicted: Values, targets: Values, bins: int = BINS, threshold: float = THRESHOLD) -> float:
    """Expected calibration error: the distance of the mean prediction from the share of positives, mean over rows.

    Bins have the same number of rows, as nearly as equal predictions, which stay together, allow. nan of no rows.
    """
    return of_ece(predicted, targets, bins, threshold).value()


def brier(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> float:
    """The Brier score: mean squared distance of the prediction from 1 for positive and 0 for other targets."""
    return of_brier(predicted, targets, threshold).value()


def reliability(predicted: Values, targets: Values, bins: int = BINS, threshold: float = THRESHOLD) -> list[Bin]:
    """The bins of :func:`ece` that have rows, from the lowest predictions to the highest."""
    one, other, _ = pairs(predicted, targets)
    place, positive = _places(one, bins), cast(other, threshold)
    found = [place == number for number in range(bins)]
    return [
        Bin(
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


def of_ece(predicted: Values, targets: Values, bins: int = BINS, threshold: float = THRESHOLD) -> Statistic:
    """ECE of weighted rows, whose bins are those of all rows with weight 1.

    It cannot fall below zero, so chance alone puts it above: few rows in a bin look badly calibrated.
    """
    one, other, present = pairs(predicted, targets)
    inside = np.eye(bins)[_places(one, bins)].T
    gaps = one - cast(other, threshold)
    return of_sums(
        [np.ones(len(one)), *(inside * gaps)],
        lambda sums: ratio(np.abs(sums[:, 1:]).sum(1), sums[:, 0]),
        present,
        NO_VALUE,
    )


def of_brier(predicted: Values, targets: Values, threshold: float = THRESHOLD) -> Statistic:
    """The Brier score of weighted rows."""
    one, other, present = pairs(predicted, targets)
    squares = np.full(len(present), np.nan)
    squares[present] = (one - cast(other, threshold)) ** 2
    return of_mean(squares, NO_VALUE)


def _places(predicted: Floats, bins: int) -> NDArray[np.int64]:
    """The bin of each row, by the middle of the ranks that equal predictions share."""
    if not len(predicted):
        return np.zeros(0, np.int64)
    ranks = Ties(predicted).mid_ranks(np.ones((1, len(predicted))))[0]
    return np.floor((ranks - 0.5) * bins / len(predicted)).astype(np.int64)
