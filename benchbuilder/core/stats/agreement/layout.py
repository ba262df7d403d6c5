"""Ratings by any number of people as arrays, with fast sums over drawn clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.weighted import Floats

RatingValue = str | float
RatingsOfUnit = Mapping[str, RatingValue | None]
Ints = NDArray[np.int64]

_EXACT = 2**53
"""Sums of whole numbers up to this one are the same in any order, so that all draws can be added up together."""
_MOST_PRODUCTS = 4_000_000


@dataclass(frozen=True)
class RatingPairs:
    """Every two ratings of the same unit: the unit, and the codes of both."""

    unit: Ints
    first: Ints
    second: Ints


@dataclass(frozen=True)
class RatingLayout:
    """The ratings of units that at least two people rated, ordered by unit.

    `cluster` and `sizes` (number of ratings) are by unit. `unit`, `rater` and `code` (index into the ascending
    `categories`) are by rating. `clusters` and `raters` count those that remain.
    """

    categories: tuple[RatingValue, ...]
    clusters: int
    raters: int
    cluster: Ints
    sizes: Ints
    unit: Ints
    rater: Ints
    code: Ints

    def pairs(self) -> RatingPairs:
        """Every unordered pair of ratings of the same unit."""
        gaps = range(1, int(self.sizes.max(initial=1)))
        starts = [np.flatnonzero(self.unit[gap:] == self.unit[:-gap]) for gap in gaps]
        none = np.zeros(0, np.int64)
        first = np.concatenate([none, *starts])
        second = np.concatenate([none, *(start + gap for start, gap in zip(starts, gaps, strict=True))])
        return RatingPairs(self.unit[first], self.code[first], self.code[second])

    def category_values(self) -> Floats:
        """The categories as numbers.

        Raises:
            ValueError: some are not numbers.
        """
        if any(isinstance(value, str) for value in self.categories):
            raise ValueError("ordinal and interval ratings are numbers")
        return np.array([float(value) for value in self.categories])

    def is_complete_unit(self) -> NDArray[np.bool_]:
        """Which units all raters rated."""
        return self.sizes == self.raters

    def grid(self) -> Ints:
        """The codes of the complete units, one row per unit and one column per rater."""
        full = self.is_complete_unit()[self.unit]
        order = np.lexsort((self.rater[full], self.unit[full]))
        return self.code[full][order].reshape(-1, max(self.raters, 1))

    def by_cluster(self, unit: Ints, *amounts: NDArray[np.generic]) -> Floats:
        """The sums by cluster of `amounts` that belong to `unit`, one column for each."""
        cluster = self.cluster[unit]
        return np.column_stack([np.bincount(cluster, amount, self.clusters) for amount in amounts]).astype(np.float64)


class ClusterSums:
    """Amounts by cluster and key (0 up to `size`); :meth:`sum_draws` adds them up by key for each draw."""

    def __init__(self, cluster: Ints, key: Ints, amount: Floats, size: int) -> None:
        cells, which = np.unique(cluster * size + key, return_inverse=True)
        self._cluster, self._key = np.divmod(cells, max(size, 1))
        self._amount = np.bincount(which, amount, len(cells))
        self._size = size
        is_whole = bool((self._amount == np.rint(self._amount)).all())
        self._most = float(np.abs(self._amount).sum()) if is_whole else np.inf

    def sum_draws(self, weights: Ints) -> Floats:
        """The sums, shape ``(draws, size)``; `weights` count how often each draw has each cluster."""
        if self._most * weights.shape[1] < _EXACT and len(weights) * len(self._key) <= _MOST_PRODUCTS:
            order = np.argsort(self._key, kind="stable")
            keys, starts = np.unique(self._key[order], return_index=True)
            sums = np.zeros((len(weights), self._size))
            if len(keys):
                products = weights[:, self._cluster[order]] * self._amount[order]
                sums[:, keys] = np.add.reduceat(products, starts, axis=1)
            return sums
        rows = [np.bincount(self._key, row[self._cluster] * self._amount, self._size) for row in weights]
        return np.array(rows, np.float64).reshape(len(weights), self._size)


def build_layout(clusters: Sequence[Sequence[RatingsOfUnit]], offered: Iterable[RatingValue] = ()) -> RatingLayout:
    """The layout of `clusters` of units (rater -> value, ``None`` = missing).

    Units with fewer than two values are left out, then clusters and raters without units. `offered` categories count
    even if nobody gave them.

    Raises:
        ValueError: A value is a number that is not finite.
    """
    kept = [[given for unit in cluster if len(given := _given_ratings(unit)) > 1] for cluster in clusters]
    kept = [cluster for cluster in kept if cluster]
    units = [unit for cluster in kept for unit in cluster]
    values = {value for unit in units for value in unit.values()}
    categories = tuple(sorted(values.union(offered), key=lambda value: (isinstance(value, str), value)))
    codes = {value: code for code, value in enumerate(categories)}
    raters = {rater: place for place, rater in enumerate(sorted({rater for unit in units for rater in unit}))}
    sizes = np.array([len(unit) for unit in units], np.int64)
    return RatingLayout(
        categories=categories,
        clusters=len(kept),
        raters=len(raters),
        cluster=np.repeat(np.arange(len(kept)), [len(cluster) for cluster in kept]),
        sizes=sizes,
        unit=np.repeat(np.arange(len(units)), sizes),
        rater=np.array([raters[rater] for unit in units for rater in unit], np.int64),
        code=np.array([codes[value] for unit in units for value in unit.values()], np.int64),
    )


def _given_ratings(unit: RatingsOfUnit) -> dict[str, RatingValue]:
    given = {rater: value for rater, value in unit.items() if value is not None}
    for rater, value in given.items():
        if not isinstance(value, str) and not isfinite(value):
            raise ValueError(f"the rating {value} of {rater} is not a finite number")
    return given
