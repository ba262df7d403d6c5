"""The rate of wrong labels, estimated from a sample that was checked again in strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class CheckedStratum:
    """A part of the items: how many it has, how many of them were checked, and how many of these were wrong."""

    size: int
    checked: int
    wrong: int


@dataclass(frozen=True)
class ErrorRate:
    """A rate with its two-sided Wilson interval.

    Attributes:
        checked: How many items were checked.
        wrong: How many of them were wrong.
        size: How many items the rate is about.
        rate: The sum over strata of share times rate; ``None`` if a stratum has no checked item.
        low: The lower bound.
        high: The upper bound.
    """

    checked: int
    wrong: int
    size: int
    rate: float | None
    low: float | None = None
    high: float | None = None


def wilson_interval(rate: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's two-sided interval of a proportion that was seen in `n` cases.

    >>> [round(wilson_interval(0, n, 0.95)[1], 3) for n in (60, 300)]
    [0.06, 0.013]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = rate + z * z / (2 * n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return max(0.0, low) if rate > 0 else 0.0, min(1.0, high) if rate < 1 else 1.0


def stratified_error_rate(strata: Sequence[CheckedStratum], level: float) -> ErrorRate:
    """The rate over all strata: each counts by its share of the items, however many of it were checked.

    The interval is Wilson's, for as many cases as a simple random sample of equal variance would have. It never has
    more than were checked, so that a sample in proportion to the strata has the interval of a simple one.
    """
    filled = [stratum for stratum in strata if stratum.size]
    checked, wrong, size = (sum(getattr(one, name) for one in filled) for name in ("checked", "wrong", "size"))
    if not filled or not all(stratum.checked for stratum in filled):
        return ErrorRate(checked, wrong, size, None)
    rate = sum(one.size / size * one.wrong / one.checked for one in filled)
    return ErrorRate(checked, wrong, size, rate, *wilson_interval(rate, _effective_cases(filled, size), level))


def _effective_cases(strata: Sequence[CheckedStratum], size: int) -> float:
    """How many cases of a simple random sample say as much as the sample in strata.

    Rates of strata are drawn towards the rate of all by one case: a stratum without an error has a variance too.
    """
    checked = sum(one.checked for one in strata)
    overall = (sum(one.wrong for one in strata) + 0.5) / (checked + 1)
    smooth = [(one.wrong + overall) / (one.checked + 1) for one in strata]
    shares = [one.size / size for one in strata]
    variance = sum(
        share**2 * rate * (1 - rate) / one.checked for share, rate, one in zip(shares, smooth, strata, strict=True)
    )
    mean = sum(share * rate for share, rate in zip(shares, smooth, strict=True))
    return min(float(checked), mean * (1 - mean) / variance)
