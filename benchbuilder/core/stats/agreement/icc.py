"""Intraclass correlations from the two-way analysis of variance of units that every rater scored.

The names are those of Shrout and Fleiss (1979): 1 is for raters that change with the unit, 2 for raters that stand for
others like them, 3 for exactly these raters; the second place says whether one rater's score is meant or the mean of
all k. Each is estimated from mean squares and can fall below zero. Where no positive variance is left to divide by,
and where every score is the same, it is ``nan``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchbuilder.core.stats.weighted import Floats

_NOISE = 1e-12


@dataclass(frozen=True)
class AnovaMeanSquares:
    """Mean squares of `units` times `raters` scores: between units, between raters, the rest, and within units."""

    units: Floats
    raters: int
    between: Floats
    of_raters: Floats
    residual: Floats
    within: Floats


def anova_sums(scores: Floats) -> Floats:
    """What `anova_mean_squares` needs of ``(units, raters)`` `scores`, one row per unit; sums of rows go into it.

    Scores near zero lose the least: take the mean of all scores off them first.
    """
    totals = scores.sum(1)
    return np.column_stack([np.ones(len(scores)), totals**2, (scores**2).sum(1), scores])


def anova_mean_squares(sums: Floats) -> AnovaMeanSquares:
    """The analysis of the summed rows of `anova_sums`, of shape ``(..., 3 + raters)``.

    ``nan`` where there are fewer than two units or two raters, and where all scores are the same.
    """
    raters = sums.shape[-1] - 3
    units, of_totals, squares, columns = sums[..., 0], sums[..., 1], sums[..., 2], sums[..., 3:]
    enough = (units > 1) & (raters > 1)
    n, k = np.where(enough, units, np.nan), float(raters)
    common = columns.sum(-1) ** 2 / (n * k)
    whole = squares - common
    whole = np.where(whole > _NOISE * squares, whole, np.nan)
    rows = np.clip(of_totals / k - common, 0, whole)
    within = whole - rows
    across = np.clip((columns**2).sum(-1) / n - common, 0, within)
    rest = (within - across) / ((n - 1) * max(k - 1, 1))
    return AnovaMeanSquares(units, raters, rows / (n - 1), across / max(k - 1, 1), rest, within / (n * max(k - 1, 1)))


def icc11(anova: AnovaMeanSquares) -> Floats:
    """ICC(1,1): one score, of a rater of whom nothing is known."""
    return _variance_proportion(anova.between - anova.within, anova.between + (anova.raters - 1) * anova.within, anova)


def icc1k(anova: AnovaMeanSquares) -> Floats:
    """ICC(1,k): the mean of k such scores."""
    return _variance_proportion(anova.between - anova.within, anova.between, anova)


def icc21(anova: AnovaMeanSquares) -> Floats:
    """ICC(2,1): one score, absolute agreement, of a rater like these."""
    bias = anova.raters * (anova.of_raters - anova.residual) / _at_least_one(anova.units)
    return _variance_proportion(
        anova.between - anova.residual, anova.between + (anova.raters - 1) * anova.residual + bias, anova
    )


def icc2k(anova: AnovaMeanSquares) -> Floats:
    """ICC(2,k): the mean of k such scores."""
    bias = (anova.of_raters - anova.residual) / _at_least_one(anova.units)
    return _variance_proportion(anova.between - anova.residual, anova.between + bias, anova)


def icc31(anova: AnovaMeanSquares) -> Floats:
    """ICC(3,1): one score of one of these raters, consistency: what a rater adds to all units does not count."""
    return _variance_proportion(
        anova.between - anova.residual, anova.between + (anova.raters - 1) * anova.residual, anova
    )


def icc3k(anova: AnovaMeanSquares) -> Floats:
    """ICC(3,k): the mean of the scores of these raters, consistency."""
    return _variance_proportion(anova.between - anova.residual, anova.between, anova)


def _at_least_one(units: Floats) -> Floats:
    return np.maximum(units, 1)


def _variance_proportion(part: Floats, whole: Floats, anova: AnovaMeanSquares) -> Floats:
    """The quotient, ``nan`` where the divisor is no more than rounding."""
    noise = _NOISE * (anova.between + anova.of_raters + anova.residual)
    return np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > noise)
