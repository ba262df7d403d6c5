"""Every measure of a level of measurement, of a layout, for many draws of its clusters at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchbuilder.core.stats.agreement import alpha, icc, margins, weighted
from benchbuilder.core.stats.agreement.layout import ClusterSums, Ints, RatingLayout
from benchbuilder.core.stats.weighted import Floats, safe_ratio

_ROUNDING = 1e-9


class AgreementMeasures(Protocol):
    """What one level of measurement measures of a layout."""

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure of each draw, of shape ``(draws,)``; undefined is ``nan``.

        `weights` of shape ``(draws, clusters)`` say how often each draw has each cluster.
        """
        ...


class NominalMeasures:
    """Percent agreement, kappa (Cohen's of two raters, else Fleiss'), AC1 and nominal alpha.

    Percent agreement is the mean over units of the share of a unit's pairs of raters that agree.
    """

    def __init__(self, layout: RatingLayout) -> None:
        pairs = layout.pairs()
        sizes = layout.sizes[pairs.unit]
        same = pairs.first == pairs.second
        self._sums = layout.by_cluster(pairs.unit, 2 * same / (sizes * (sizes - 1)), 2 * ~same / (sizes - 1))
        self._values = _margins(layout)
        self._shares = _margins(layout, 1 / layout.sizes)
        self._two = _two_rater_margins(layout)

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure of each draw."""
        agreed, disagreed = (weights @ self._sums).T
        shares = self._shares.sum_draws(weights)
        rows, columns = (side.sum_draws(weights) for side in self._two) if self._two else (shares, shares)
        return {
            "percent": margins.agreement_proportion(agreed, shares),
            "kappa": margins.kappa_of_margins(agreed, rows, columns),
            "ac1": margins.ac1_of_margins(agreed, shares, shares),
            "alpha": margins.nominal_alpha_of_margins(disagreed, self._values.sum_draws(weights)),
        }


class OrdinalMeasures:
    """Percent agreement, ordinal alpha and, of two raters, kappa with quadratic weights."""

    def __init__(self, layout: RatingLayout) -> None:
        pairs = layout.pairs()
        sizes = layout.sizes[pairs.unit]
        self._places = layout.category_values()
        same = pairs.first == pairs.second
        squares = (self._places[pairs.first] - self._places[pairs.second]) ** 2
        self._sums = layout.by_cluster(pairs.unit, 2 * same / (sizes * (sizes - 1)), squares)
        self._units = layout.by_cluster(np.arange(len(layout.sizes)), np.ones(len(layout.sizes)))
        self._values = _margins(layout)
        self._two = _two_rater_margins(layout)
        size = len(self._places)
        cells, which = np.unique((pairs.first * size + pairs.second)[~same], return_inverse=True)
        self._one, self._other = np.divmod(cells, max(size, 1))
        cluster = layout.cluster[pairs.unit[~same]]
        self._apart = ClusterSums(cluster, which, 2 / (sizes[~same] - 1), len(cells))

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure of each draw."""
        agreed, squares = (weights @ self._sums).T
        values = self._values.sum_draws(weights)
        ranks = alpha.mid_ranks(values)
        distances = (ranks[:, self._one] - ranks[:, self._other]) ** 2
        observed = (self._apart.sum_draws(weights) * distances).sum(-1)
        found = {
            "percent": safe_ratio(agreed, (weights @ self._units)[:, 0]),
            "alpha": alpha.alpha_of_sums(observed, values, alpha.expected_squares(values, ranks)),
        }
        if self._two:
            rows, columns = (side.sum_draws(weights) for side in self._two)
            found["weighted_kappa"] = weighted.weighted_kappa_of_margins(
                squares, rows, columns, self._places, "quadratic"
            )
        return found


class IntervalMeasures:
    """Mean difference, share of pairs within a tolerance, interval alpha, and the ICC of units that all raters rated.

    Difference and share are means over units of the mean over a unit's pairs of raters.
    """

    def __init__(self, layout: RatingLayout, tolerance: float | None) -> None:
        pairs = layout.pairs()
        sizes = layout.sizes[pairs.unit]
        self._places = layout.category_values()
        self._tolerance = tolerance
        apart = np.abs(self._places[pairs.first] - self._places[pairs.second])
        near = apart <= (tolerance or 0) + _ROUNDING
        each = 2 / (sizes * (sizes - 1))
        self._sums = layout.by_cluster(pairs.unit, each, each * apart, each * near, 2 * apart**2 / (sizes - 1))
        self._values = _margins(layout)
        grid = self._places[layout.grid()]
        scores = grid - grid.mean() if grid.size else grid
        self._scores = layout.by_cluster(np.flatnonzero(layout.is_complete_unit()), *icc.anova_sums(scores).T)

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure of each draw."""
        units, apart, near, squares = (weights @ self._sums).T
        values = self._values.sum_draws(weights)
        variance = icc.anova_mean_squares(weights @ self._scores)
        found = {"mean_difference": safe_ratio(apart, units)}
        if self._tolerance is not None:
            found["within_tolerance"] = safe_ratio(near, units)
        expected = alpha.expected_squares(values, self._places)
        return {
            **found,
            "alpha": alpha.alpha_of_sums(squares, values, expected),
            "icc21": icc.icc21(variance),
            "icc2k": icc.icc2k(variance),
        }


def _margins(layout: RatingLayout, of_unit: Floats | None = None) -> ClusterSums:
    """How often each category is given, each rating counting as its unit says, or one."""
    amount = np.ones(len(layout.unit)) if of_unit is None else of_unit[layout.unit]
    return ClusterSums(layout.cluster[layout.unit], layout.code, amount, len(layout.categories))


def _two_rater_margins(layout: RatingLayout) -> tuple[ClusterSums, ClusterSums] | None:
    """How often each of exactly two raters gives each category."""
    if layout.raters != 2:
        return None
    first = layout.rater == 0
    size = len(layout.categories)
    one, other = (
        ClusterSums(layout.cluster[layout.unit[mine]], layout.code[mine], np.ones(int(mine.sum())), size)
        for mine in (first, ~first)
    )
    return one, other
