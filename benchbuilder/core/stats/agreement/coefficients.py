"""Coefficients of agreement over nominal judgements, each a function of a square table of counts.

Every function takes an array of shape ``(..., C, C)`` for C categories, so that one call serves a whole bootstrap,
and returns an array of shape ``(...)``. Where a coefficient is undefined its value is ``nan``: with no judgements at
all, and for kappa and alpha where every judgement is the same.

There are three tables. `contingency` is of two coders. `coincidences` (Krippendorff) and `rater_pairs` (Fleiss, Gwet)
are symmetric, of any number of coders: they count ordered pairs of judgements on the same unit; in the first a unit
weighs as much as it has judgements, in the second every unit weighs one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.agreement import margins

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


def rater_pairs(counts: Counts) -> Counts:
    """The table of `counts` (unit by category: how many raters gave it), in which every unit weighs one.

    A unit's one is spread evenly over the ordered pairs of its raters. Units with fewer than two raters are left out.

    >>> rater_pairs(np.array([[3.0, 0.0], [1.0, 1.0]])).tolist()
    [[1.0, 0.5], [0.5, 0.0]]
    """
    raters = counts.sum(-1)
    kept, many = counts[raters > 1], raters[raters > 1]
    each = 1 / (many * (many - 1))
    return kept.T @ (kept * each[:, None]) - np.diag(each @ kept)


def percent_agreement(table: Counts) -> NDArray[np.float64]:
    """Share (0 to 1) of units on which the two coders agree; of `rater_pairs`, the mean share of agreeing pairs."""
    return margins.agreement_proportion(_diagonal(table), table.sum(-1))


def cohen_kappa(table: Counts) -> NDArray[np.float64]:
    """Cohen's kappa: chance agreement from each coder's own margins (Cohen 1960)."""
    return margins.kappa_of_margins(_diagonal(table), table.sum(-1), table.sum(-2))


def fleiss_kappa(table: Counts) -> NDArray[np.float64]:
    """Fleiss' kappa of `rater_pairs`: chance agreement from the margins of all raters together (Fleiss 1971).

    Fleiss has the same number of raters for every unit. Where it differs this is the usual generalisation (Gwet 2014):
    agreement and margins are means over units, each of which weighs the same.
    """
    return cohen_kappa(table)


def gwet_ac1(table: Counts) -> NDArray[np.float64]:
    """Gwet's AC1: chance agreement from the mean margins (Gwet 2008); stable where one category prevails.

    For two coders it takes their contingency table, for any number `rater_pairs`.
    """
    return margins.ac1_of_margins(_diagonal(table), table.sum(-1), table.sum(-2))


def krippendorff_alpha(matrix: Counts) -> NDArray[np.float64]:
    """Krippendorff's alpha for nominal data, of a coincidence matrix.

    The matrix of two coders who judged every unit is their contingency table plus its transpose.
    """
    return margins.nominal_alpha_of_margins(_total(matrix) - _diagonal(matrix), matrix.sum(-1))


def _total(table: Counts) -> NDArray[np.float64]:
    return table.sum((-1, -2))


def _diagonal(table: Counts) -> NDArray[np.float64]:
    return np.diagonal(table, axis1=-2, axis2=-1).sum(-1)
