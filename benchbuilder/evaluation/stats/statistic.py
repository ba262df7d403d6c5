"""Statistics of weighted rows, which a whole bootstrap over clusters computes in a few calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, safe_ratio

Bools = NDArray[np.bool_]
OptionalValues = Sequence[float | None] | Sequence[float] | Floats
"""Numbers by row; ``None`` and nan are missing."""

Clusters = Sequence[str] | NDArray[np.integer[Any]]
"""The cluster of each row, by its name or its number."""

ROUNDING_TOLERANCE = 1e-9
WHY_NO_VALUE = "there is no value"
_NOISE = 1e-12


@dataclass(frozen=True)
class Statistic:
    """A number computed from weighted rows.

    `compute` takes weights of shape ``(draws, rows)``, which count how often a draw has a row (from 0). It returns one
    number per draw, nan where undefined. Its rows are those marked in `present`; the others lack a value. `why` is the
    reason if the number is undefined.
    """

    compute: Callable[[Floats], Floats]
    present: Bools
    why: str

    def value(self) -> float:
        """The number for the rows as they are, each once; nan if it is undefined."""
        return float(self.compute(np.ones((1, int(self.present.sum()))))[0])


def float_array(values: OptionalValues) -> Floats:
    """`values` as an array, with nan for ``None``.

    Raises:
        ValueError: A value is infinite.
    """
    if isinstance(values, np.ndarray):
        numbers = np.array(values, np.float64)
    else:
        numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    if np.isinf(numbers).any():
        raise ValueError("a value is infinite")
    return numbers


def complete_pairs(first: OptionalValues, second: OptionalValues) -> tuple[Floats, Floats, Bools]:
    """The values of the rows where neither is missing, and a mask of these rows.

    Raises:
        ValueError: The numbers of values differ, or a value is infinite.
    """
    left, right = float_array(first), float_array(second)
    if left.shape != right.shape:
        raise ValueError(f"{len(left)} values cannot be paired with {len(right)}")
    present = ~(np.isnan(left) | np.isnan(right))
    return left[present], right[present], present


def statistic_of_sums(columns: Sequence[Floats], of: Callable[[Floats], Floats], present: Bools, why: str) -> Statistic:
    """A statistic that is the function `of` of sums over rows, of shape ``(draws, columns)``."""
    table = np.column_stack([np.asarray(column, np.float64) for column in columns])
    return Statistic(lambda weights: of(weights @ table), present, why)


def mean_statistic(values: OptionalValues, why: str = "there is no value") -> Statistic:
    """The mean of the values that are not missing."""
    numbers = float_array(values)
    present = ~np.isnan(numbers)
    kept = numbers[present]
    return statistic_of_sums([np.ones(len(kept)), kept], lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, why)


def centre_values(values: Floats) -> Floats:
    """`values` minus their mean: exactly zero if all are the same."""
    if not len(values) or values.min() == values.max():
        return np.zeros(len(values))
    return values - values.mean()


def sum_of_squares(squares: Floats, totals: Floats, count: Floats) -> Floats:
    """Sum of squares about the mean, from sums of centred values; nan where it is only rounding."""
    found = squares - safe_ratio(totals**2, count)
    return np.where(found > _NOISE * squares, found, np.nan)


def cluster_codes(clusters: Clusters) -> NDArray[np.intp]:
    """A number from 0 for each cluster, by its first row; names have no influence."""
    if isinstance(clusters, np.ndarray):
        _, firsts, codes = np.unique(clusters, return_index=True, return_inverse=True)
        order = np.empty(len(firsts), np.intp)
        order[np.argsort(firsts)] = np.arange(len(firsts))
        return order[codes]
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.intp)
