"""Coefficients of agreement over nominal judgements, each a function of a square table of counts.

Every function takes an array of shape ``(..., C, C)`` for C categories, so that one call serves a whole bootstrap,
and returns an array of shape ``(...)``. Where a coefficient is undefined its value is ``nan``: with no judgements at
all, and for kappa and alpha where every judgement is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
Coefficient = Callable[[Counts], NDArray[np.float64]]


def contingency(pairs: Sequence[tuple[int, int]], categories: int) -> Counts:
    """How often the first coder gave row r and the second column c, of units that both judged.

    >>> contingency([(1, 1), (1, 0), (1, 1)], 2).tolist()
    [[0.0, 0.0], [1.0, 2.0]]
    """
    table = np.zeros((categories, categories))
    for first, second in pairs:
        table[first, second] += 1
    return table


def coincidences(units: Sequence[Sequence[int | None]], categories: int) -> Counts:
    """Krippendorff's coincidence matrix of `units` (one sequence per unit, one value per coder, ``None`` = missing).

    Units with fewer than two values cannot be paired and are left out.
    """
    matrix = np.zeros((categories, categories))
    for unit in units:
        values = [value for value in unit if value is not None]
        if len(values) < 2:
            continue
        counts = np.bincount(values, minlength=categories).astype(np.float64)
        matrix += (np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1)
    return matrix


def percent(table: Counts) -> NDArray[np.float64]:
    """Share (0 to 1) of units on which the two coders agree."""
    return _ratio(_diagonal(table), _total(table))


def cohen_kappa(table: Counts) -> NDArray[np.float64]:
    """Cohen's kappa: chance agreement from each coder's own margins (Cohen 1960)."""
    total = _total(table)
    expected = _ratio((table.sum(-1) * table.sum(-2)).sum(-1), total * total)
    return _corrected(percent(table), expected)


def gwet_ac1(table: Counts) -> NDArray[np.float64]:
    """Gwet's AC1: chance agreement from the mean margins (Gwet 2008); stable where one category prevails."""
    share = _ratio((table.sum(-1) + table.sum(-2)) / 2, _total(table)[..., None])
    expected = (share * (1 - share)).sum(-1) / (table.shape[-1] - 1)
    return _corrected(percent(table), expected)


def krippendorff_alpha(matrix: Counts) -> NDArray[np.float64]:
    """Krippendorff's alpha for nominal data, of a coincidence matrix.

    The matrix of two coders who judged every unit is their contingency table plus its transpose.
    """
    total = _total(matrix)
    margins = matrix.sum(-1)
    observed = total - _diagonal(matrix)
    expected = _ratio(total * total - (margins * margins).sum(-1), total - 1)
    return 1 - _ratio(observed, expected)


def alpha_of_two(table: Counts) -> NDArray[np.float64]:
    """Krippendorff's nominal alpha of two coders who judged every unit, of their contingency table."""
    return krippendorff_alpha(table + np.swapaxes(table, -1, -2))


def _total(table: Counts) -> NDArray[np.float64]:
    return table.sum((-1, -2))


def _diagonal(table: Counts) -> NDArray[np.float64]:
    return np.diagonal(table, axis1=-2, axis2=-1).sum(-1)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    """The quotient, ``nan`` where the divisor is zero or less."""
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _corrected(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    return _ratio(observed - expected, 1 - expected)
