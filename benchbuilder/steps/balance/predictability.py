"""How surely a linear model guesses the label of each row, trained on other families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Matrix, kernel_inverse
from benchbuilder.steps.balance.problem import Floats, Ints

_STEEPEST = 20.0
"""The largest slope, in standard deviations of predictions: beyond it, a probability is 0 or 1."""
_ADDED = 8192
"""So many numbers are added up at once, as numpy does in a longer array: sums have the same bits."""
_NONE = np.zeros(0, np.float32)


@dataclass(frozen=True)
class FamilyRows:
    """Sparse rows: row i has the features ``indices[indptr[i]:indptr[i + 1]]``, with `values` at the same places.

    `labels` are 1 and -1; `families` has the number of each row's family. `signed`: a row is the features of a right
    thing minus those of a wrong one, and every label is 1.
    """

    indptr: Ints
    indices: NDArray[np.int32]
    values: NDArray[np.int8]
    width: int
    labels: Ints
    families: Ints
    signed: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def entries(self, first: int, stop: int) -> tuple[Ints, Ints, Floats]:
        """The row, the feature and the value of each entry of some rows; rows have length 1, or are empty."""
        ends = self.indptr[first : stop + 1]
        some, owner = slice(ends[0], ends[-1]), np.repeat(np.arange(stop - first), np.diff(ends))
        values = self.values[some].astype(float)
        lengths = np.sqrt(np.bincount(owner, values**2, minlength=stop - first))
        return owner + first, self.indices[some].astype(np.int64), values / lengths[owner]


def predictability(table: FamilyRows, splits: int, share: float, seed: int, scratch: Path | None = None) -> Floats:
    """For each row, the mean probability of its label when its family is held out.

    In each of `splits`, a random `share` of the families is held out, and a ridge without an intercept is trained on
    the rest. Labels are coded so that no prior is learnt. One slope, fitted to all held-out predictions, turns
    predictions into probabilities. A row that was never held out has one half. A large table lies in a file in the
    folder `scratch`, if there is one.
    """
    weights = _code(table)
    inverse = kernel_inverse(table, scratch)
    solved = inverse.times(weights[:, None])
    count = int(table.families.max()) + 1 if table.rows else 0
    draws = np.random.default_rng(seed)
    drawn = list[tuple[NDArray[np.int32], Matrix]]()
    for _ in range(splits if count else 0):
        out = np.zeros(count, bool)
        out[draws.permutation(count)[: max(1, round(share * count))]] = True
        held = np.flatnonzero(out[table.families])
        predicted = weights[held, None] - inverse.solved(held, solved[held])
        drawn.append((held.astype(np.int32), predicted[:, 0] * table.labels[held].astype(np.float32)))
    slope = _slope(np.concatenate([_NONE, *(margins for _, margins in drawn)]))
    times, sums = np.zeros(table.rows, np.int64), np.zeros(table.rows)
    for held, margins in drawn:
        times[held] += 1
        sums[held] += 1 / (1 + np.exp(-slope * margins.astype(float)))
    return np.where(times > 0, sums / np.maximum(times, 1), 0.5)


def _code(table: FamilyRows) -> Matrix:
    """The target of each row: both labels weigh the same."""
    if table.signed:
        return np.ones(table.rows, np.float32)
    positive = float((table.labels > 0).mean()) if table.rows else 0.5
    if positive in (0.0, 1.0):
        raise ValueError("all rows have the same label")
    return np.where(table.labels > 0, 0.5 / positive, -0.5 / (1 - positive)).astype(np.float32)


def _slope(margins: Matrix) -> float:
    """The slope under which the right labels are most probable; 0 if predictions are no better than chance."""
    spread = float(np.sqrt(_sum(margins, np.square) / max(len(margins), 1)))
    if spread == 0 or _sum(margins, np.positive) <= 0:
        return 0.0
    low, high = 0.0, _STEEPEST / spread
    for _ in range(40):
        middle = (low + high) / 2
        rising = _sum(margins, partial(_gain, middle)) > 0
        low, high = (middle, high) if rising else (low, middle)
    return low


def _gain(slope: float, margins: Floats) -> Floats:
    """How the probability of each right label grows with the slope."""
    return margins / (1 + np.exp(np.minimum(slope * margins, 500)))


def _sum(margins: Matrix, of: Callable[[Floats], Floats]) -> float:
    """The sum of a function of all margins, in double precision."""
    starts = range(0, len(margins), _ADDED)
    return sum((float(of(margins[start : start + _ADDED].astype(float)).sum()) for start in starts), 0.0)
