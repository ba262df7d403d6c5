"""Correlations of two columns, and whether a judge ranks models as people do.

Each correlation is nan, without a warning, where it is undefined: with fewer than two rows, or if a column does not
vary. Rows where a value is missing are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchbuilder.core import Floats, safe_ratio
from benchbuilder.evaluation.stats.ranks import TieGroups, discordant_pairs
from benchbuilder.evaluation.stats.statistic import (
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
