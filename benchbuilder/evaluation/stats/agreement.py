"""Agreement of two columns of scores: correlations, errors and ranks of systems, as statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.statistic import (
    ROUNDING_TOLERANCE,
    WHY_NO_VALUE,
    OptionalValues,
    Statistic,
    centre_values,
    complete_pairs,
    float_array,
    statistic_of_sums,
    sum_of_squares,
)

WHY_NO_CORRELATION = "one side of the correlation does not vary"


def pearson(first: OptionalValues, second: OptionalValues) -> float:
    """Pearson's product-moment correlation."""
    return pearson_statistic(first, second).value()


def pearson_statistic(first: OptionalValues, second: OptionalValues) -> Statistic:
    """Pearson's product-moment correlation of weighted rows."""
    one, other, present = complete_pairs(first, second)
    return statistic_of_sums(_moments(one, other), _pearson, present, WHY_NO_CORRELATION)


def r_squared_statistic(first: OptionalValues, second: OptionalValues) -> Statistic:
    """The square of Pearson's correlation: R² of the best straight line from one column to the other."""
    one, other, present = complete_pairs(first, second)
    return statistic_of_sums(_moments(one, other), lambda sums: _pearson(sums) ** 2, present, WHY_NO_CORRELATION)


def partial_correlation_statistic(first: OptionalValues, second: OptionalValues, control: OptionalValues) -> Statistic:
    """Pearson's correlation of the residuals of `first` and `second` after linear regression on `control`.

    Also undefined where `control` determines one of them.
    """
    one, other, third = float_array(first), float_array(second), float_array(control)
    present = ~(np.isnan(one) | np.isnan(other) | np.isnan(third))
    one, other, third = one[present], other[present], third[present]
    table = np.column_stack([*_moments(one, other), *_moments(one, third), *_moments(other, third)])

    def of(weights: Floats) -> Floats:
        sums = weights @ table
        direct, left, right = _pearson(sums[:, :6]), _pearson(sums[:, 6:12]), _pearson(sums[:, 12:])
        rest = (1 - left**2) * (1 - right**2)
        return np.clip(safe_ratio(direct - left * right, np.sqrt(np.where(rest > 1e-12, rest, 0))), -1, 1)

    return Statistic(of, present, f"{WHY_NO_CORRELATION} beyond what is given")


def spearman_statistic(first: OptionalValues, second: OptionalValues) -> Statistic:
    """Spearman's rank correlation; equal values share their mean rank."""
    one, other, present = complete_pairs(first, second)
    return Statistic(_weighted_spearman(one, other), present, WHY_NO_CORRELATION)


def kendall_statistic(first: OptionalValues, second: OptionalValues) -> Statistic:
    """Kendall's tau-b, which takes ties into account."""
    one, other, present = complete_pairs(first, second)
    return Statistic(_weighted_kendall(one, other), present, WHY_NO_CORRELATION)


def _moments(first: Floats, second: Floats) -> list[Floats]:
    first, second = centre_values(first), centre_values(second)
    return [np.ones(len(first)), first, second, first**2, second**2, first * second]


def _pearson(sums: Floats) -> Floats:
    count, one, other, squares, others, products = sums.T
    scale = np.sqrt(sum_of_squares(squares, one, count)) * np.sqrt(sum_of_squares(others, other, count))
    return np.clip(safe_ratio(products - safe_ratio(one * other, count), scale), -1, 1)


def _weighted_spearman(first_values: Floats, second_values: Floats) -> Callable[[Floats], Floats]:
    left, right = TieGroups(first_values), TieGroups(second_values)

    def of(weights: Floats) -> Floats:
        middle = (weights.sum(1, keepdims=True) + 1) / 2
        first, second = left.mid_ranks(weights) - middle, right.mid_ranks(weights) - middle
        products = (weights * first * second).sum(1)
        squares = (weights * first**2).sum(1) * (weights * second**2).sum(1)
        return np.clip(safe_ratio(products, np.sqrt(squares)), -1, 1)

    return of


def _weighted_kendall(first_values: Floats, second_values: Floats) -> Callable[[Floats], Floats]:
    left, right = TieGroups(first_values), TieGroups(second_values)
    both = TieGroups((left.group * (right.groups + 1) + right.group).astype(np.float64))
    wrong = discordant_pairs(first_values, second_values)

    def of(weights: Floats) -> Floats:
        total = weights.sum(1)
        everything = total * (total - 1) / 2
        ties, others, shared = left.tied_pairs(weights), right.tied_pairs(weights), both.tied_pairs(weights)
        difference = everything - ties - others + shared - 2 * wrong(weights)
        scale = np.sqrt(np.maximum(everything - ties, 0)) * np.sqrt(np.maximum(everything - others, 0))
        return np.clip(safe_ratio(difference, scale), -1, 1)

    return of


@dataclass(frozen=True)
class System:
    """A model with its mean scores by people and by the judge, over the `n` answers that both scored."""

    name: str
    humans: float
    judge: float
    n: int


@dataclass(frozen=True)
class RankAgreement:
    """The models from best to worst by people, how well the judge's order agrees, and the pairs that it swaps.

    In `swapped`, people rank the first model higher. `compared` counts the pairs with different means by people. Pairs
    with equal means by the judge are `tied`, not swapped. Correlations are ``None`` if undefined, with `why`.
    """

    systems: tuple[System, ...]
    spearman: float | None
    kendall: float | None
    swapped: tuple[tuple[str, str], ...]
    tied: tuple[tuple[str, str], ...]
    compared: int
    why: str = ""


def rank_agreement(models: Sequence[str], humans: OptionalValues, judge: OptionalValues) -> RankAgreement:
    """How well the orders of the means by model agree; each answer has a model, a human value and a judge's value.

    Answers without one of the values are left out.
    """
    by_people, by_judge, present = complete_pairs(humans, judge)
    names = np.array(models, dtype=object)[present]
    systems: list[System] = []
    for name in sorted(set(names)):
        rows = names == name
        systems.append(System(str(name), float(by_people[rows].mean()), float(by_judge[rows].mean()), int(rows.sum())))
    systems.sort(key=lambda system: (-system.humans, system.name))
    compared = [(a, b) for a, b in combinations(systems, 2) if a.humans > b.humans]
    rho, tau, why = _correlations(systems)
    return RankAgreement(
        systems=tuple(systems),
        spearman=rho,
        kendall=tau,
        swapped=tuple((a.name, b.name) for a, b in compared if a.judge < b.judge),
        tied=tuple((a.name, b.name) for a, b in compared if a.judge == b.judge),
        compared=len(compared),
        why=why,
    )


def _correlations(systems: Sequence[System]) -> tuple[float | None, float | None, str]:
    if len(systems) < 3:
        return None, None, f"an order of {len(systems)} models says nothing: at least three are needed"
    means = [system.humans for system in systems], [system.judge for system in systems]
    rho, tau = spearman_statistic(*means).value(), kendall_statistic(*means).value()
    if np.isnan(rho):
        return None, None, "all models have the same mean, by people or by the judge"
    return rho, tau, ""


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


_BLOCK = 64


class TieGroups:
    """The groups of equal values of a column, from the lowest value to the highest.

    `group` is the group of each row, `groups` their number. Weights have shape ``(draws, rows)``.
    """

    def __init__(self, values: Floats) -> None:
        distinct, group = np.unique(values, return_inverse=True)
        self.group = group.reshape(-1)
        self.groups = len(distinct)
        self._order = np.argsort(self.group, kind="stable")
        self._starts = np.searchsorted(self.group[self._order], np.arange(self.groups))

    def sums(self, weights: Floats) -> Floats:
        """The weight of each group, of shape ``(draws, groups)``."""
        if not self.groups:
            return np.zeros((len(weights), 0))
        return np.add.reduceat(np.take(weights, self._order, axis=1), self._starts, axis=1)

    def tied_pairs(self, weights: Floats) -> Floats:
        """How many pairs of rows have the same value, in each draw."""
        found = self.sums(weights)
        return (found * (found - 1)).sum(1) / 2

    def mid_ranks(self, weights: Floats) -> Floats:
        """The rank of each row in each draw, from 1; equal values share the mean of their ranks."""
        found = self.sums(weights)
        middle = found.cumsum(1) - found + (found + 1) / 2
        return np.take(middle, self.group, axis=1)


def discordant_pairs(first: Floats, second: Floats) -> Callable[[Floats], Floats]:
    """A function that counts the pairs of weighted rows in opposite orders in the two columns; ties do not count.

    It counts inversions by merging, from blocks in which every pair is compared. Only weights change from draw to draw,
    so every step is prepared once.
    """
    rows = len(first)
    size = 1 << max(rows - 1, 0).bit_length()
    width = min(size, _BLOCK)
    order = np.concatenate([np.lexsort((second, first)), np.arange(rows, size)])
    rank = np.concatenate([np.unique(second, return_inverse=True)[1].reshape(-1), np.full(size - rows, rows)])[order]
    blocks = rank.reshape(-1, width)
    inside = np.triu(blocks[:, :, None] > blocks[:, None, :]).astype(np.float64)
    steps = _merges(rank, order, width)

    def of(weights: Floats) -> Floats:
        draws = len(weights)
        padded = np.concatenate([weights, np.zeros((draws, size - rows))], axis=1)
        drawn = np.take(padded, order, axis=1).reshape(draws, -1, width).transpose(1, 0, 2)
        found = ((drawn @ inside) * drawn).sum((0, 2))
        for merged, late in steps:
            drawn = np.take(padded, merged, axis=1).reshape(draws, *late.shape)
            before = (drawn * late).cumsum(2)
            found += np.einsum("ijk,ijk->i", drawn * (1 - late), before)
        return found

    return of


def _merges(rank: NDArray[np.int64], order: NDArray[np.int64], width: int) -> list[tuple[NDArray[np.int64], Floats]]:
    """For each step, two blocks at a time: the rows of both by rank, and a mask of the later block's rows.

    Among equal ranks the earlier block's rows come first, so a row is discordant with the later rows before it.
    """
    place = np.arange(len(rank))
    steps: list[tuple[NDArray[np.int64], Floats]] = []
    while width < len(rank):
        late = place % (2 * width) >= width
        merged = np.lexsort((late, rank, place // (2 * width)))
        width *= 2
        steps.append((order[merged], late[merged].astype(np.float64).reshape(-1, width)))
    return steps
