"""Compares two groups of units in strata of alike units: Mantel and Haenszel, with whole units as observations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats
from benchbuilder.evaluation.stats.statistic import Bools


@dataclass(frozen=True)
class StratifiedComparison:
    """Two groups, compared in strata.

    Attributes:
        odds_ratio: The common odds of a right answer in the first group over those in the other; nan if undefined.
        z: The excess of the first group in standard errors; nan if nothing can be compared.
        p: Two-sided; nan if nothing can be compared.
        compared: The number of units in strata that have units of both groups.
    """

    odds_ratio: float
    z: float
    p: float
    compared: int


def compare_in_strata(
    scores: Floats, first: Bools, strata: NDArray[np.int64], matched: Floats | None = None
) -> StratifiedComparison:
    """Compare the scores of two groups of units, stratum by stratum.

    For one thing with scores of 0 and 1, this is the test of Mantel and Haenszel without correction for continuity. Of
    several things the scores of a unit are added, so that things that go together do not count as independent.

    Args:
        scores: Units by things, from 0 to 1; nan is missing.
        first: Which units are in the first group.
        strata: The stratum of each unit, from 0.
        matched: What units are matched by. A common linear trend that is left within strata is taken out.
    """
    numerator = denominator = excess = variance = 0.0
    compared = 0
    parts: list[tuple[Bools, Floats, Floats]] = []
    for stratum in range(int(strata.max(initial=-1)) + 1):
        here = strata == stratum
        one = first[here]
        if not one.any() or one.all():
            continue
        compared += len(one)
        part = scores[here]
        asked = ~np.isnan(part)
        total = asked.sum(0)
        right = np.where(asked, part, 0.0)
        shares = right.sum(0) / np.maximum(total, 1)
        of_first, of_other = right[one].sum(0), right[~one].sum(0)
        missed_first, missed_other = asked[one].sum(0) - of_first, asked[~one].sum(0) - of_other
        numerator += float((of_first * missed_other / np.maximum(total, 1)).sum())
        denominator += float((missed_first * of_other / np.maximum(total, 1)).sum())
        x = np.zeros(len(one)) if matched is None else matched[here] - matched[here].mean()
        parts.append((one, np.where(asked, part - shares, 0.0).sum(1), x))
    slope = 0.0 if matched is None else _slope(parts)
    for one, residuals, x in parts:
        values = residuals - slope * x
        values = values - values.mean()
        count, ones = len(one), int(one.sum())
        excess += float(values[one].sum())
        variance += ones * (count - ones) / (count * (count - 1)) * float((values**2).sum())
    free = sum(len(one) - 1 for one, _, _ in parts)
    if matched is not None and free > 1:  # the slope was estimated too
        variance *= free / (free - 1)
    ratio = numerator / denominator if denominator > 0 else math.nan
    if variance <= 0:
        return StratifiedComparison(ratio, math.nan, math.nan, compared)
    z = excess / math.sqrt(variance)
    return StratifiedComparison(ratio, z, math.erfc(abs(z) / math.sqrt(2)), compared)


def _slope(parts: list[tuple[Bools, Floats, Floats]]) -> float:
    """The common slope within strata and groups."""
    products = squares = 0.0
    for one, residuals, x in parts:
        for group in (one, ~one):
            centred = x[group] - x[group].mean()
            products += float((centred * residuals[group]).sum())
            squares += float((centred**2).sum())
    return products / squares if squares > 0 else 0.0


def quantile_strata(values: Floats, strata: int) -> NDArray[np.int64]:
    """The stratum of each value, from 0: as equal in size as can be; equal values share one."""
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return np.minimum(ranks * strata // max(len(values), 1), strata - 1).astype(np.int64)


def benjamini_hochberg(p: Floats) -> Floats:
    """p values adjusted for the share of false alarms among findings; nan stays.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, np.nan])).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
