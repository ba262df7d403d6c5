"""How large a change of accuracy can be seen if the same questions are asked twice, and how many families it takes."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, sqrt
from statistics import NormalDist, fmean

POWER = 0.8
"""How often a difference is to be found, if there is one."""
LEVEL = 0.95
"""The level of the interval that must exclude 0."""
LIKENESS = 0.3
"""How alike the changes within a family are (intraclass correlation), until it is known."""


def families_needed(drop: float, changed: float, sizes: Collection[int], level: float = LEVEL) -> int:
    """How many families it takes to see a drop of accuracy with a power of 80 %.

    n = (z1 + z2)² · (d − δ²) / δ² · (1 + (m − 1)r) questions: McNemar's test, and the design effect of families.

    Args:
        drop: The drop δ, as a proportion.
        changed: The proportion d of questions whose answer is right once only.
        sizes: How many questions each of some families has.
        level: The level of the test.

    >>> families_needed(0.05, 0.2, [1]), families_needed(0.05, 0.2, [2])
    (621, 404)
    """
    questions = _reach(level) * (changed - drop**2) / drop**2 * _design_effect(sizes)
    return ceil(questions / fmean(sizes))


def smallest_drop(changed: float, sizes: Collection[int], families: float, level: float = LEVEL) -> float:
    """The smallest drop that so many families of such `sizes` show with a power of 80 %; see `families_needed`.

    >>> round(smallest_drop(0.2, [2], 35), 2)
    0.16
    """
    questions = families * fmean(sizes) / _design_effect(sizes)
    return sqrt(changed / (questions / _reach(level) + 1))


def _reach(level: float) -> float:
    normal = NormalDist()
    return (normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(POWER)) ** 2


def _design_effect(sizes: Collection[int]) -> float:
    """1 + (m − 1)r, where m is the size of the family of a question."""
    return 1 + (sum(size**2 for size in sizes) / sum(sizes) - 1) * LIKENESS
