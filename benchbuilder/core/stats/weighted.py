"""Statistics of weighted rows, and draws of a bootstrap over clusters: a whole bootstrap takes a few calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
OptionalValues = Sequence[float | None] | Sequence[float] | Floats
"""Numbers by row; ``None`` and nan are missing."""

Clusters = Sequence[str] | NDArray[np.integer[Any]]
"""The cluster of each row, by its name or its number."""

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


def safe_ratio(numerator: Floats | np.float64, denominator: Floats | np.float64) -> Floats:
    """The quotient of arrays that broadcast; nan where the divisor is zero or less."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def centre_values(values: Floats) -> Floats:
    """`values` minus their mean: exactly zero if all are the same."""
    if not len(values) or values.min() == values.max():
        return np.zeros(len(values))
    return values - values.mean()


def sum_of_squares(squares: Floats, totals: Floats, count: Floats) -> Floats:
    """Sum of squares about the mean, from sums of centred values; nan where it is only rounding."""
    found = squares - safe_ratio(totals**2, count)
    return np.where(found > _NOISE * squares, found, np.nan)


_CELLS = 1 << 21
_CACHED_CELLS = 1 << 25
REPORTED_DIGITS = 6
_SAME = "every judgement is the same"


def draw_rows(codes: NDArray[np.intp], samples: int, seed: int) -> Iterator[Floats]:
    """How often each row is drawn, in batches of shape ``(samples, rows)``; nothing without rows.

    `codes` number the clusters from 0. A sample draws as many clusters as there are, with replacement, each with all
    its rows. The draws depend only on the number of clusters, `samples` and `seed`.
    """
    if not len(codes):
        return
    clusters = int(codes.max()) + 1
    batch = max(1, _CELLS // len(codes))
    if clusters * samples <= _CACHED_CELLS and clusters < 1 << 16:
        table = _table(clusters, samples, seed)
        for start in range(0, samples, batch):
            yield np.take(table[start : start + batch], codes, axis=1).astype(np.float64)
        return
    random = np.random.default_rng(seed)
    for start in range(0, samples, batch):
        counts = _counts(random, min(batch, samples - start), clusters)
        yield np.take(counts, codes, axis=1).astype(np.float64)


def cluster_codes(clusters: Clusters) -> NDArray[np.intp]:
    """A number from 0 for each cluster, by its first row; names have no influence."""
    if isinstance(clusters, np.ndarray):
        _, firsts, codes = np.unique(clusters, return_index=True, return_inverse=True)
        order = np.empty(len(firsts), np.intp)
        order[np.argsort(firsts)] = np.arange(len(firsts))
        return order[codes]
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.intp)


@lru_cache(maxsize=2)
def _table(clusters: int, samples: int, seed: int) -> NDArray[np.uint16]:
    random = np.random.default_rng(seed)
    table, batch = np.empty((samples, clusters), np.uint16), max(1, _CELLS // clusters)
    for start in range(0, samples, batch):
        table[start : start + batch] = _counts(random, min(batch, samples - start), clusters)
    table.flags.writeable = False
    return table


def _counts(random: np.random.Generator, samples: int, clusters: int) -> NDArray[np.intp]:
    """One row per sample; the rows are the same in batches of any size."""
    drawn = random.integers(0, clusters, (samples, clusters)) + np.arange(samples)[:, np.newaxis] * clusters
    return np.bincount(drawn.ravel(), minlength=samples * clusters).reshape(samples, clusters)


def percentile_interval(values: NDArray[np.float64], level: float, clusters: int, why: str = _SAME) -> dict[str, Any]:
    """``low`` and ``high`` at `level` of the defined `values`, or ``None`` for both and the reason in ``why``.

    Values that are ``nan`` are left out and counted in ``left_out``; `why` explains them.
    """
    if clusters < 2:
        return {"low": None, "high": None, "why": "undefined: one candidate alone has no interval"}
    if not len(values):
        return {"low": None, "high": None, "why": "undefined: no resample was drawn"}
    defined = values[~np.isnan(values)]
    left_out = len(values) - len(defined)
    if 2 * left_out > len(values):
        words = f"undefined: in {left_out} of {len(values)} resamples {why}"
        return {"low": None, "high": None, "why": words}
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    bounds: dict[str, Any] = {"low": round(float(low), REPORTED_DIGITS), "high": round(float(high), REPORTED_DIGITS)}
    return {**bounds, "left_out": left_out} if left_out else bounds
