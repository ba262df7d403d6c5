"""Correlations of two columns: Pearson's, Spearman's, Kendall's, and Pearson's given a third column.

Each is nan, without a warning, where it is undefined: of fewer than two rows, and where one of the columns is all the
same. Rows where a value is missing are left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchbuilder.core.stats.ranks import Ties, discordant
from benchbuilder.core.stats.weighted import (
    Floats,
    Statistic,
    Values,
    centred,
    numbers,
    of_sums,
    pairs,
    ratio,
    spread,
)

WHY = "one side of the correlation does not vary"


def pearson(first: Values, second: Values) -> float:
    """Pearson's product-moment correlation."""
    return of_pearson(first, second).value()


def spearman(first: Values, second: Values) -> float:
    """Spearman's rank correlation; equal values share their mean rank."""
    return of_spearman(first, second).value()


def kendall(first: Values, second: Values) -> float:
    """Kendall's tau-b, which takes ties into account."""
    return of_kendall(first, second).value()


def r_squared(first: Values, second: Values) -> float:
    """The square of Pearson's correlation: R² of the straight line that fits the one to the other best."""
    return of_r_squared(first, second).value()


def partial(first: Values, second: Values, given: Values) -> float:
    """Pearson's correlation of what is left of `first` and `second` once the best line on `given` is taken off each."""
    return of_partial(first, second, given).value()


def of_pearson(first: Values, second: Values) -> Statistic:
    """Pearson's correlation of weighted rows."""
    one, other, present = pairs(first, second)
    return of_sums(_moments(one, other), _pearson, present, WHY)


def of_r_squared(first: Values, second: Values) -> Statistic:
    """The square of Pearson's correlation of weighted rows."""
    one, other, present = pairs(first, second)
    return of_sums(_moments(one, other), lambda sums: _pearson(sums) ** 2, present, WHY)


def of_partial(first: Values, second: Values, given: Values) -> Statistic:
    """The partial correlation of weighted rows; undefined where `given` says all about one of them, too."""
    one, other, third = numbers(first), numbers(second), numbers(given)
    present = ~(np.isnan(one) | np.isnan(other) | np.isnan(third))
    one, other, third = one[present], other[present], third[present]
    table = np.column_stack([*_moments(one, other), *_moments(one, third), *_moments(other, third)])

    def of(weights: Floats) -> Floats:
        sums = weights @ table
        direct, left, right = _pearson(sums[:, :6]), _pearson(sums[:, 6:12]), _pearson(sums[:, 12:])
        rest = (1 - left**2) * (1 - right**2)
        return np.clip(ratio(direct - left * right, np.sqrt(np.where(rest > 1e-12, rest, 0))), -1, 1)

    return Statistic(of, present, f"{WHY} beyond what is given")


def of_spearman(first: Values, second: Values) -> Statistic:
    """Spearman's correlation of weighted rows."""
    one, other, present = pairs(first, second)
    return Statistic(_of_spearman(one, other), present, WHY)


def of_kendall(first: Values, second: Values) -> Statistic:
    """Kendall's tau-b of weighted rows."""
    one, other, present = pairs(first, second)
    return Statistic(_of_kendall(one, other), present, WHY)


def _moments(one: Floats, other: Floats) -> list[Floats]:
    one, other = centred(one), centred(other)
    return [np.ones(len(one)), one, other, one**2, other**2, one * other]


def _pearson(sums: Floats) -> Floats:
    count, one, other, squares, others, products = sums.T
    scale = np.sqrt(spread(squares, one, count)) * np.sqrt(spread(others, other, count))
    return np.clip(ratio(products - ratio(one * other, count), scale), -1, 1)


def _of_spearman(one: Floats, other: Floats) -> Callable[[Floats], Floats]:
    left, right = Ties(one), Ties(other)

    def of(weights: Floats) -> Floats:
        middle = (weights.sum(1, keepdims=True) + 1) / 2
        first, second = left.mid_ranks(weights) - middle, right.mid_ranks(weights) - middle
        products = (weights * first * second).sum(1)
        squares = (weights * first**2).sum(1) * (weights * second**2).sum(1)
        return np.clip(ratio(products, np.sqrt(squares)), -1, 1)

    return of


def _of_kendall(one: Floats, other: Floats) -> Callable[[Floats], Floats]:
    left, right = Ties(one), Ties(other)
    both = Ties((left.group * (right.groups + 1) + right.group).astype(np.float64))
    wrong = discordant(one, other)

    def of(weights: Floats) -> Floats:
        total = weights.sum(1)
        everything = total * (total - 1) / 2
        ties, others, shared = left.tied(weights), right.tied(weights), both.tied(weights)
        difference = everything - ties - others + shared - 2 * wrong(weights)
        scale = np.sqrt(np.maximum(everything - ties, 0)) * np.sqrt(np.maximum(everything - others, 0))
        return np.clip(ratio(difference, scale), -1, 1)

    return of
