"""Split-conformal intervals: how far a score may lie from what people would have said.

The half width is a quantile of the distances on rows that the judge was not trained on. If a new row is exchangeable
with these, its interval holds the people's value with probability `level` or more, for any judge (Vovk et al. 2005;
Lei et al. 2018). Rows of one question are not independent, and a new question differs from old ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from benchbuilder.core.stats.weighted import OptionalValues, float_array


@dataclass(frozen=True)
class HalfWidth:
    """The half width of intervals at `level`, from `n` residuals; ``None`` with `why` if there are too few."""

    value: float | None
    level: float
    n: int
    why: str = ""


def conformal_half_width(residuals: OptionalValues, level: float) -> HalfWidth:
    """The ceil((n + 1) * `level`)-th smallest of the n absolute `residuals` that are not missing."""
    distances = np.abs(float_array(residuals))
    sizes = np.sort(distances[~np.isnan(distances)])
    n = len(sizes)
    place = ceil((n + 1) * level - 1e-9)
    if place > n:
        least = ceil(level / (1 - level) - 1e-9)
        return HalfWidth(
            None, level, n, f"{n} residuals are too few for a level of {level:g}: at least {least} are needed"
        )
    return HalfWidth(float(sizes[max(place, 1) - 1]), level, n)


def conformal_interval(score: float, half: float) -> tuple[float, float]:
    """The interval of a `score`, clipped to 0 to 1."""
    return min(max(score - half, 0.0), 1.0), max(min(score + half, 1.0), 0.0)
