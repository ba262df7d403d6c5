"""How surely a linear model guesses the label of each row, trained on other families."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchbuilder.core.stats.kernels import Integers, Matrix, Reals, kernel_inverse

_STEEPEST = 20.0
"""The largest slope, in standard deviations of predictions: beyond it, a probability is 0 or 1."""


@dataclass(frozen=True)
class FamilyRows:
    """Sparse rows: entry i has the feature ``indices[i]``, with ``values[i]``, in row ``row_of_entry[i]``.

    `labels` are 1 and -1; `families` has the number of each row's family. `signed`: a row is the features of a right
    thing minus those of a wrong one, and every label is 1.
    """

    row_of_entry: Integers
    indices: Integers
    values: Reals
    width: int
    labels: Integers
    families: Integers
    signed: bool = False

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    @cached_property
    def unit_rows(self) -> FamilyRows:
        """The same with rows of length 1; empty rows stay empty."""
        lengths = np.sqrt(np.bincount(self.row_of_entry, self.values**2, minlength=self.rows))
        lengths[lengths == 0] = 1
        values = self.values / lengths[self.row_of_entry]
        return FamilyRows(self.row_of_entry, self.indices, values, self.width, self.labels, self.families, self.signed)


def predictability(table: FamilyRows, splits: int, share: float, seed: int) -> Reals:
    """For each row, the mean probability of its label when its family is held out.

    In each of `splits`, a random `share` of the families is held out, and a ridge without an intercept is trained on
    the rest. Labels are coded so that no prior is learnt. One slope, fitted to all held-out predictions, turns
    predictions into probabilities. A row that was never held out has one half.
    """
    weights = _code(table)
    inverse = kernel_inverse(table.unit_rows)
    solved = inverse.times(weights[:, None])
    count = int(table.families.max()) + 1 if table.rows else 0
    draws = np.random.default_rng(seed)
    rows, predictions = list[Integers](), list[Reals]()
    for _ in range(splits if count else 0):
        out = np.zeros(count, bool)
        out[draws.permutation(count)[: max(1, round(share * count))]] = True
        held = np.flatnonzero(out[table.families])
        predicted = weights[held, None] - inverse.solved(held, solved[held])
        rows.append(held)
        predictions.append(predicted[:, 0].astype(float))
    held = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    margins = np.concatenate(predictions) * table.labels[held] if rows else np.zeros(0)
    surely = 1 / (1 + np.exp(-_slope(margins) * margins))
    times = np.bincount(held, minlength=table.rows)
    sums = np.bincount(held, surely, minlength=table.rows)
    return np.where(times > 0, sums / np.maximum(times, 1), 0.5)


def _code(table: FamilyRows) -> Matrix:
    """The target of each row: both labels weigh the same."""
    if table.signed:
        return np.ones(table.rows, np.float32)
    positive = float((table.labels > 0).mean()) if table.rows else 0.5
    if positive in (0.0, 1.0):
        raise ValueError("all rows have the same label")
    return np.where(table.labels > 0, 0.5 / positive, -0.5 / (1 - positive)).astype(np.float32)


def _slope(margins: Reals) -> float:
    """The slope under which the right labels are most probable; 0 if predictions are no better than chance."""
    spread = float(np.sqrt((margins**2).mean())) if len(margins) else 0.0
    if spread == 0 or margins.sum() <= 0:
        return 0.0
    low, high = 0.0, _STEEPEST / spread
    for _ in range(40):
        middle = (low + high) / 2
        rising = (margins / (1 + np.exp(np.minimum(middle * margins, 500)))).sum() > 0
        low, high = (middle, high) if rising else (low, middle)
    return low
