"""How time grows: the exponent of a power law, with and without a constant in front of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Points = Sequence[tuple[float, float]]


class Fit(NamedTuple):
    """``seconds = constant + factor * size ** exponent``, fitted to the points from size `first` on."""

    exponent: float
    factor: float
    constant: float
    first: float
    points: int

    def at(self, size: float) -> float:
        """Seconds at `size`."""
        return self.constant + self.factor * size**self.exponent


def power(points: Points, first: float = 0.0) -> Fit | None:
    """The straight line through the logarithms of the points from size `first` on; None below two points."""
    used = [(math.log(size), math.log(seconds)) for size, seconds in points if size >= first and seconds > 0]
    if len(used) < 2:
        return None
    middle_x, middle_y = (sum(values) / len(used) for values in zip(*used, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in used)
    if not spread:
        return None
    exponent = sum((x - middle_x) * (y - middle_y) for x, y in used) / spread
    factor = math.exp(middle_y - exponent * middle_x)
    return Fit(exponent, factor, 0.0, min(size for size, _ in points if size >= first), len(used))


def growing(points: Points, twice: float = 2.0) -> Fit | None:
    """`power` from the size on where starting up no longer decides: where the time is `twice` that of the smallest."""
    ordered = sorted(points)
    if not ordered:
        return None
    floor = ordered[0][1]
    from_here = [size for size, seconds in ordered if seconds >= twice * floor]
    return power(ordered, from_here[0]) if len(from_here) >= 2 else power(ordered)


def with_constant(points: Points) -> Fit | None:
    """The power law above a constant that misses the points by the smallest shares; needs four points."""
    if len(points) < 4:
        return None
    sizes, seconds = (np.array(values, float) for values in zip(*sorted(points), strict=True))
    best: tuple[float, Fit] | None = None
    for exponent in np.arange(0.3, 2.0, 0.005).tolist():
        columns = np.stack([np.ones(len(sizes)), sizes**exponent]) / seconds
        constant, factor = np.linalg.lstsq(columns.T, np.ones(len(sizes)), rcond=None)[0].tolist()
        missed = float(((constant * columns[0] + factor * columns[1] - 1) ** 2).sum())
        if constant >= 0 and factor > 0 and (best is None or missed < best[0]):
            best = missed, Fit(exponent, factor, constant, float(sizes[0]), len(sizes))
    return None if best is None else best[1]
