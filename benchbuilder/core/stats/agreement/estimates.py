"""The measures of agreement by level of measurement, for many draws of clusters at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from benchbuilder.core.stats.agreement import coefficients
from benchbuilder.core.stats.agreement.layout import ClusterSums, Ints, RatingLayout
from benchbuilder.core.stats.weighted import Floats, safe_ratio

_ROUNDING = 1e-9


class AgreementMeasures(Protocol):
    """The measures of one level of measurement."""

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure by name, shape ``(draws,)``; undefined is ``nan``.

        `weights`, shape ``(draws, clusters)``, count how often each draw has each cluster.
        """
        ...


class NominalMeasures:
    """Percent agreement, kappa (Cohen's for two raters, else Fleiss'), AC1 and nominal alpha.

    Percent agreement is the proportion of a unit's pairs of raters that agree, averaged over units.
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
            "percent": coefficients.agreement_proportion(agreed, shares),
            "kappa": coefficients.kappa(agreed, rows, columns),
            "ac1": coefficients.gwet_ac1(agreed, shares),
            "alpha": coefficients.nominal_alpha(disagreed, self._values.sum_draws(weights)),
        }


class OrdinalMeasures:
    """Percent agreement, ordinal alpha and, for two raters, kappa with quadratic weights."""

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
        ranks = coefficients.mid_ranks(values)
        distances = (ranks[:, self._one] - ranks[:, self._other]) ** 2
        observed = (self._apart.sum_draws(weights) * distances).sum(-1)
        measures = {
            "percent": safe_ratio(agreed, (weights @ self._units)[:, 0]),
            "alpha": coefficients.distance_alpha(observed, values, ranks),
        }
        if self._two:
            rows, columns = (side.sum_draws(weights) for side in self._two)
            measures["weighted_kappa"] = coefficients.weighted_kappa(squares, rows, columns, self._places)
        return measures


class IntervalMeasures:
    """Mean difference, proportion of pairs within a tolerance, interval alpha, and ICC of the units that all rated.

    Difference and proportion are averaged over a unit's pairs of raters, then over units.
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
        self._scores = layout.by_cluster(np.flatnonzero(layout.is_complete_unit()), *coefficients.anova_sums(scores).T)

    def compute(self, weights: Ints) -> dict[str, Floats]:
        """Each measure of each draw."""
        units, apart, near, squares = (weights @ self._sums).T
        values = self._values.sum_draws(weights)
        found = {"mean_difference": safe_ratio(apart, units)}
        if self._tolerance is not None:
            found["within_tolerance"] = safe_ratio(near, units)
        alpha = coefficients.distance_alpha(squares, values, self._places)
        one, mean = coefficients.intraclass_correlations(weights @ self._scores)
        return {**found, "alpha": alpha, "icc21": one, "icc2k": mean}


def _margins(layout: RatingLayout, of_unit: Floats | None = None) -> ClusterSums:
    """How often each category is given; a rating counts once, or as much as `of_unit` gives for its unit."""
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
