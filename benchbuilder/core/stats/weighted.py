"""What can be computed of weighted rows: the form that lets a whole bootstrap be a few calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
RowNumbers = NDArray[np.intp]
OptionalValues = Sequence[float | None] | Sequence[float] | Floats
"""Numbers by row; ``None`` and nan are missing."""

_NOISE = 1e-12


@dataclass(frozen=True)
class Statistic:
    """A number of weighted rows.

    `compute` takes weights of shape ``(draws, rows)``, whole numbers from 0 that say how often a draw has a row, and
    returns one number for each draw, nan where it is undefined. Its rows are those that `present` marks: the others
    lack a value. `why` says in words what is the matter where the number is undefined.
    """

    compute: Callable[[Floats], Floats]
    present: Bools
    why: str

    def value(self) -> float:
        """The number of the rows as they are, each once; nan where it is undefined."""
        return float(self.compute(np.ones((1, int(self.present.sum()))))[0])


def float_array(values: OptionalValues) -> Floats:
    """`values` as an array, with nan for ``None``.

    Raises:
        ValueError: one of them is infinite.
    """
    found = np.array([np.nan if value is None else value for value in values], np.float64)
    if np.isinf(found).any():
        raise ValueError("a value is infinite")
    return found


def complete_pairs(first: OptionalValues, second: OptionalValues) -> tuple[Floats, Floats, Bools]:
    """The values of the rows where neither is missing, and which rows these are.

    Raises:
        ValueError: there are not as many of the one as of the other, or one is infinite.
    """
    one, other = float_array(first), float_array(second)
    if one.shape != other.shape:
        raise ValueError(f"{len(one)} values cannot be paired with {len(other)}")
    present = ~(np.isnan(one) | np.isnan(other))
    return one[present], other[present], present


def statistic_of_sums(columns: Sequence[Floats], of: Callable[[Floats], Floats], present: Bools, why: str) -> Statistic:
    """A statistic that is a function `compute` the sums over rows, of shape ``(draws, columns)``."""
    table = np.column_stack([np.asarray(column, np.float64) for column in columns])
    return Statistic(lambda weights: of(weights @ table), present, why)


def mean_statistic(values: OptionalValues, why: str = "there is no value") -> Statistic:
    """The mean."""
    found = float_array(values)
    present = ~np.isnan(found)
    kept = found[present]
    return statistic_of_sums([np.ones(len(kept)), kept], lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present, why)


def statistic_of_rows(statistic: Callable[[RowNumbers], float], rows: int, why: str = "it is undefined") -> Statistic:
    """Any function of row numbers, in which a row stands as often as it was drawn; called once for each draw."""
    everything = np.arange(rows)

    def of(weights: Floats) -> Floats:
        drawn = (np.repeat(everything, row) for row in weights.astype(np.int64))
        return np.array([statistic(indices) if len(indices) else np.nan for indices in drawn], np.float64)

    return Statistic(of, np.ones(rows, np.bool_), why)


def safe_ratio(numerator: Floats | np.float64, denominator: Floats | np.float64) -> Floats:
    """The quotient of arrays that broadcast, nan where the divisor is zero or less."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def centre_values(values: Floats) -> Floats:
    """`values` less their mean: exactly zero where all are the same."""
    if not len(values) or values.min() == values.max():
        return np.zeros(len(values))
    return values - values.mean()


def sum_of_squares(squares: Floats, totals: Floats, count: Floats) -> Floats:
    """Sum of squares about the mean, from sums of `centre_values` values; nan where it is no more than rounding."""
    found = squares - safe_ratio(totals**2, count)
    return np.where(found > _NOISE * squares, found, np.nan)
