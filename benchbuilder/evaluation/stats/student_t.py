"""Student's t distribution."""

from __future__ import annotations

from math import atan, cos, inf, isinf, pi, sin, sqrt
from statistics import NormalDist

import numpy as np

_STEPS = 200


def probability_within(t: float, freedom: int) -> float:
    """The probability of a value from -`t` to `t`, for `t` of 0 or more and `freedom` of at least 1.

    By the finite series for whole degrees of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
    """
    if isinf(t):
        return 1.0
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    places = np.arange(1, (freedom - 1) // 2 + 1 - odd, dtype=np.float64)
    square = cos(angle) ** 2
    factors = (2 * places / (2 * places + 1) if odd else (2 * places - 1) / (2 * places)) * square
    series = 1.0 + float(np.cumprod(factors).sum())
    if not odd:
        return sin(angle) * series
    return 2 / pi * (angle + (sin(angle) * cos(angle) * series if freedom > 1 else 0))


def probability_below(t: float, freedom: int) -> float:
    """The probability of a value below `t`."""
    half = probability_within(abs(t), freedom) / 2
    return 0.5 + half if t >= 0 else 0.5 - half


def two_sided_quantile(level: float, freedom: int) -> float:
    """The t for which a value lies from -t to t with probability `level` (0 to 1, exclusive)."""
    low, high = 0.0, NormalDist().inv_cdf((1 + level) / 2)
    while probability_within(high, freedom) < level:
        low, high = high, 2 * high if high < 1e300 else inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if probability_within(middle, freedom) < level else (low, middle)
    return high
