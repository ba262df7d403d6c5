"""Coefficients of agreement, from sums and margins of ratings.

Margins have shape ``(..., C)`` for C categories and hold how much fell into each category; sums have shape ``(...)``,
so that one call serves a whole bootstrap. Where a coefficient is undefined its value is ``nan``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.weighted import Floats, safe_ratio

_NOISE = 1e-12


def agreement_proportion(agreed: Floats, rows: Floats) -> Floats:
    """The proportion (0 to 1) of all judgements that agree; `agreed` is in the unit of the margins `rows`."""
    return safe_ratio(agreed, rows.sum(-1))


def kappa(agreed: Floats, rows: Floats, columns: Floats) -> Floats:
    """Agreement beyond chance, where chance draws one judgement from `rows` and the other from `columns`.

    With the margins of two coders this is Cohen's kappa (1960). With those of all raters together, twice, it is Fleiss'
    (1971). Fleiss has the same number of raters for every unit; where it differs, agreement and margins are means over
    units (Gwet 2014).
    """
    total = rows.sum(-1)
    expected = safe_ratio((rows * columns).sum(-1), total * total)
    return _beyond_chance(agreement_proportion(agreed, rows), expected)


def gwet_ac1(agreed: Floats, rows: Floats) -> Floats:
    """Gwet's AC1 (2008): chance agreement from the mean margins; stable where one category prevails.

    All C categories count, whether anybody gave them or not.
    """
    mean = safe_ratio(rows, rows.sum(-1)[..., None])
    expected = safe_ratio((mean * (1 - mean)).sum(-1), np.float64(rows.shape[-1] - 1))
    return _beyond_chance(agreement_proportion(agreed, rows), expected)


def weighted_kappa(squares: Floats, rows: Floats, columns: Floats, values: Floats) -> Floats:
    """Cohen's kappa (1968) with quadratic weights, of two raters.

    Args:
        squares: The squared distances of their ratings, summed over units.
        rows: How often the first rater gave each value.
        columns: How often the second rater gave each value.
        values: The values of the categories, ascending.
    """
    total = rows.sum(-1)
    centre = safe_ratio(((rows + columns) * values).sum(-1), 2 * total)[..., None]
    away = values - centre
    spread = ((rows + columns) * away**2).sum(-1)
    expected = total * spread - 2 * (rows * away).sum(-1) * (columns * away).sum(-1)
    return np.where(_has_variation(rows + columns), 1 - safe_ratio(squares * total, expected), np.nan)


def nominal_alpha(disagreed: Floats, margins: Floats) -> Floats:
    """Krippendorff's nominal alpha, from the coincidences that disagree and the pairable values by category."""
    total = margins.sum(-1)
    expected = safe_ratio(total * total - (margins * margins).sum(-1), total - 1)
    return 1 - safe_ratio(disagreed, expected)


def distance_alpha(observed: Floats, margins: Floats, positions: Floats) -> Floats:
    """Krippendorff's alpha for categories at `positions`, from the `observed` squared distance over all coincidences.

    `margins` are the pairable values by category. For ordinal alpha `positions` are the `mid_ranks`, for interval
    alpha the values themselves.
    """
    total = margins.sum(-1)
    mean = safe_ratio((margins * positions).sum(-1), total)[..., None]
    expected = 2 * total * (margins * (positions - mean) ** 2).sum(-1)
    alpha = 1 - safe_ratio(observed * (total - 1), expected)
    return np.where(_has_variation(margins), alpha, np.nan)


def mid_ranks(margins: Floats) -> Floats:
    """The mean rank of each category, in steps of one value.

    Krippendorff's ordinal distance, the values between two categories plus half of those in them, is the difference
    of their mean ranks.
    """
    return margins.cumsum(-1) - margins / 2


def anova_sums(scores: Floats) -> Floats:
    """The input of `intraclass_correlations`: one row per unit of `scores`, shape ``(units, raters)``; rows add up.

    Subtract the mean of all scores first: scores near zero lose the least to rounding.
    """
    totals = scores.sum(1)
    return np.column_stack([np.ones(len(scores)), totals**2, (scores**2).sum(1), scores])


def intraclass_correlations(sums: Floats) -> tuple[Floats, Floats]:
    """ICC(2,1) and ICC(2,k) (Shrout and Fleiss 1979), from added rows of `anova_sums`, shape ``(..., 3 + raters)``.

    They measure absolute agreement, of one rater and of the mean of all k, where raters stand for others like them.
    Both are estimated from mean squares and can fall below zero. ``nan`` with fewer than two units or raters, where
    all scores are the same, and where no positive variance is left to divide by.
    """
    raters = sums.shape[-1] - 3
    units, of_totals, squares, columns = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    n, k = np.where((units > 1) & (raters > 1), units, np.nan), float(raters)
    common = columns.sum(-1) ** 2 / (n * k)
    whole = squares - common
    whole = np.where(whole > _NOISE * squares, whole, np.nan)
    rows = np.clip(of_totals / k - common, 0, whole)
    across = np.clip((columns**2).sum(-1) / n - common, 0, whole - rows)
    between, of_raters = rows / (n - 1), across / max(k - 1, 1)
    residual = (whole - rows - across) / ((n - 1) * max(k - 1, 1))
    noise, part, extra = _NOISE * (between + of_raters + residual), between - residual, of_raters - residual
    many = np.maximum(units, 1)
    wholes = between + (raters - 1) * residual + raters * extra / many, between + extra / many
    one, mean = (np.divide(part, total, out=np.full(total.shape, np.nan), where=total > noise) for total in wholes)
    return one, mean


def _has_variation(margins: Floats) -> NDArray[np.bool_]:
    """Whether more than one category was given: exact, where a difference of rounded sums is not."""
    return (margins > 0).sum(-1) > 1


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    return safe_ratio(observed - expected, 1 - expected)
