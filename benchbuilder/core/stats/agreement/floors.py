"""Holds agreement to a floor: the lower bound of each measure counts, and too few units cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

FloorWord = Literal["reached", "weak", "unknown"]
ONE_SIDED = 0.95
"""Above this share of one answer, alpha says little; AC1 counts in its place."""


@dataclass(frozen=True)
class FloorCheck:
    """A measure against its floor; `low` is the lower bound of its interval, ``None`` without one."""

    measure: str
    low: float | None
    floor: float

    @property
    def reached(self) -> bool:
        """Whether even the lower bound reaches the floor."""
        return self.low is not None and self.low >= self.floor


@dataclass(frozen=True)
class FloorStanding:
    """Where the agreement on one question stands.

    Attributes:
        word: ``reached``, ``weak`` (a lower bound is below its floor), or ``unknown`` (too little was judged to tell).
        checks: The measures that count.
        judged: How many independent things two or more people judged.
        needed: With fewer than so many, even full agreement could not show that the floor is reached.
        base_rate: The share of the more frequent decision; ``None`` if the answers are not yes and no.
    """

    word: FloorWord
    checks: tuple[FloorCheck, ...]
    judged: int
    needed: int
    base_rate: float | None = None

    @property
    def one_sided(self) -> bool:
        """Whether AC1 counts in place of alpha."""
        return self.base_rate is not None and self.base_rate > ONE_SIDED


def hold_to_floor(
    result: Mapping[str, Any], *, alpha: float | None, raw: float | None, level: float, base_rate: float | None = None
) -> FloorStanding | None:
    """Where a result of `measure_agreement` stands; ``None`` if there is no floor.

    Args:
        result: The measures. On scalars, the proportion within the tolerance is the raw agreement.
        alpha: The floor of Krippendorff's alpha. Of Gwet's AC1 instead, if `base_rate` is above `ONE_SIDED`.
        raw: The floor of the proportion that agrees.
        level: The level of the intervals.
        base_rate: The share of the more frequent decision.
    """
    floors = {"alpha": alpha, "percent": raw}
    if base_rate is not None and base_rate > ONE_SIDED:
        floors = {"ac1": alpha, "percent": raw}
    elif "within_tolerance" in result:
        floors = {"alpha": alpha, "within_tolerance": raw}
    wanted = {name: floor for name, floor in floors.items() if floor is not None}
    if not wanted:
        return None
    bounds: dict[str, Mapping[str, Any]] = {name: result.get(name, {}) for name in wanted}
    checks = tuple(FloorCheck(name, bounds[name].get("low"), floor) for name, floor in wanted.items())
    needed = max(_least_units(floor, level) for floor in wanted.values())
    return FloorStanding(
        _word(checks, bounds, result["clusters"] >= needed), checks, result["clusters"], needed, base_rate
    )


def _word(checks: tuple[FloorCheck, ...], bounds: Mapping[str, Mapping[str, Any]], enough: bool) -> FloorWord:
    """Weak, if one measure is surely below, or if enough was judged and one lower bound is below."""
    highs = {check.measure: bounds[check.measure].get("high") for check in checks}
    if any((high := highs[check.measure]) is not None and high < check.floor for check in checks):
        return "weak"
    if not enough:
        return "unknown"
    if any(check.low is not None and not check.reached for check in checks):
        return "weak"
    return "reached" if all(check.reached for check in checks) else "unknown"


def _least_units(floor: float, level: float) -> int:
    """The fewest units whose full agreement shows `floor` by Wilson's interval.

    A bootstrap cannot say this: where all agree, each of its samples does.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    return max(2, math.ceil(z * z * floor / (1 - floor))) if floor < 1 else 2
