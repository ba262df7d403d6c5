"""How well labels are guessed from features: linear ridge on rows of length 1, whole families held out.

The ridge has lambda 1 and no intercept. In each training fold, yes is coded as 1/(2p) and no as -1/(2(1-p)); p is the
share of yes there. So no prior is learnt, and a feature that all items have scores nothing. Only the sign of a
prediction counts; 0 counts half a hit. The code is proportional to y - p, so the prediction is that of y minus p times
that of 1.

With A = K + I, K the Gram matrix, the residuals of a held-out fold F are (A^-1)_FF^-1 (A^-1 t)_F for targets t. So one
inverse serves all folds, repetitions and permutations.

Items of a family with the same features are one row, weighted with their number, whose target is the mean of theirs.
This is the same ridge. In a design that balances a view inside each family these means are exactly p, and the score is
exactly one half.

Pairs need no labels: a row is the right answer minus the wrong one, its target is 1, and a hit is a prediction above 0.
This is what the coding above gives if each pair is also seen from its other side, as the row -x with the target -1.
Then p is one half, and no constant answer scores more than that.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.audit.features import Integers, Reals, ViewFeatures
from benchbuilder.evaluation.audit.kernels import KernelInverse, Matrix, kernel_inverse

_NOTHING = 1e-5
"""A prediction up to this size is rounding noise and counts as 0; targets are between -1 and 1."""


class HeldOutRidge:
    """The ridge of one view of the items of a scope, for any labels and folds."""

    def __init__(self, features: ViewFeatures, families: Integers) -> None:
        self.signed = features.signed
        unit_of_item, first = _units(features, families)
        self._order = np.argsort(unit_of_item, kind="stable")
        self._starts = np.searchsorted(unit_of_item[self._order], np.arange(len(first)))
        self.unit_of_item = unit_of_item
        self.first = first
        self.counts = np.bincount(unit_of_item).astype(np.float32)
        self._features = features.take(first)

    def scores(self, labels: NDArray[np.int8], folds: Integers) -> Reals:
        """The balanced accuracy for each column of 0/1 labels; the number of yes must be the same in all columns."""
        return self._score(*self._predicted(labels, folds))

    def hits(self, labels: NDArray[np.int8], folds: Integers) -> Reals:
        """For each item 1, 0 or a half: whether its label is guessed from the other folds."""
        signs, _ = self._predicted(labels[:, None], folds)
        guess = signs[self.unit_of_item, 0]
        return np.where(labels == 1, 0.5 + guess / 2, 0.5 - guess / 2).astype(np.float64)

    def _score(self, signs: Matrix, yes: Matrix) -> Reals:
        agreed = np.einsum("up,up->p", signs, yes).astype(np.float64)
        total = np.einsum("up,u->p", signs, self.counts).astype(np.float64)
        n = float(self.counts.sum())
        if self.signed:
            return 0.5 + (2 * agreed - total) / (2 * n)
        positive = float(yes[:, 0].sum())
        return 0.5 + (agreed / positive - (total - agreed) / (n - positive)) / 4

    def _predicted(self, labels: NDArray[np.int8], folds: Integers) -> tuple[Matrix, Matrix]:
        """The sign of the prediction for each unit and column, and the number of yes in each unit."""
        yes = np.add.reduceat(labels[self._order], self._starts, axis=0, dtype=np.float32)
        fold_of_unit = folds[self.first]
        if self._features.one_hot and not self.signed:
            return self._by_category(yes, fold_of_unit), yes
        return self._by_ridge(yes, fold_of_unit), yes

    def _by_category(self, yes: Matrix, folds: Integers) -> Matrix:
        """In whole numbers: the sign of (yes in the category) * n - (all yes) * (size of the category), in training."""
        signs = np.empty_like(yes)
        order = np.lexsort((folds, self._features.indices))
        codes = self._features.indices[order]
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        category = np.cumsum(np.r_[False, codes[1:] != codes[:-1]])
        in_category = np.add.reduceat(yes[order], starts, axis=0, dtype=np.float64)
        size = np.add.reduceat(self.counts[order], starts, dtype=np.float64)
        everything, n = yes.sum(axis=0, dtype=np.float64), float(self.counts.sum())
        for fold in np.unique(folds):
            held = np.flatnonzero(folds[order] == fold)
            codes_held = category[held]
            begins = np.flatnonzero(np.r_[True, codes_held[1:] != codes_held[:-1]])
            present = codes_held[begins]
            own = np.add.reduceat(yes[order[held]], begins, axis=0, dtype=np.float64)
            own_size = np.add.reduceat(self.counts[order[held]], begins, dtype=np.float64)
            train_yes, train_n = everything - own.sum(axis=0), n - own_size.sum()
            seen = (in_category[present] - own) * train_n - train_yes * (size[present] - own_size)[:, None]
            signs[order[held]] = np.sign(seen)[np.searchsorted(present, codes_held)]
        return signs

    def _by_ridge(self, yes: Matrix, folds: Integers) -> Matrix:
        weight = np.sqrt(self.counts)[:, None]
        n = float(self.counts.sum())
        middle = 0.5 if self.signed else float(yes[:, 0].sum()) / n
        targets = (yes / self.counts[:, None] - np.float32(middle)) * weight
        columns = targets if self.signed else np.column_stack([targets, weight])
        signs = np.empty_like(yes)
        for rows, inverse in self._inverses:
            solved = inverse.times(columns[rows])
            own = folds[rows]
            for fold in np.unique(own):
                held = np.flatnonzero(own == fold)
                block = inverse.block(held)
                predicted = columns[rows[held]] - np.linalg.solve(block, solved[held])
                predicted /= weight[rows[held]]
                if not self.signed:
                    outside = folds != fold
                    train = yes[outside].sum(axis=0, dtype=np.float64) / float(self.counts[outside].sum())
                    predicted = predicted[:, :-1] - (train - middle).astype(np.float32) * predicted[:, -1:]
                predicted[np.abs(predicted) <= _NOTHING] = 0
                signs[rows[held]] = np.sign(predicted)
        return signs

    @cached_property
    def _inverses(self) -> list[tuple[Integers, KernelInverse]]:
        rows = self._features.unit_rows()
        rows = replace(rows, values=rows.values * np.sqrt(self.counts)[rows.row_of_entry])
        groups = np.zeros(rows.rows, np.int64) if rows.groups is None else rows.groups
        return [
            (chosen, kernel_inverse(_compact(rows.take(chosen))))
            for group in np.unique(groups)
            for chosen in [np.flatnonzero(groups == group)]
        ]


def fold_numbers(families: Integers, folds: int, seed: int, repetition: int) -> Integers:
    """The fold of each item: whole families in random order, cut into `folds` parts of nearly equal size."""
    sizes = np.bincount(families)
    order = np.random.default_rng([seed, 3, repetition]).permutation(len(sizes))
    ends = np.cumsum(sizes[order])
    fold = np.empty(len(sizes), np.int64)
    fold[order] = (ends - sizes[order] / 2) * min(folds, len(sizes)) // ends[-1]
    return fold[families]


def _units(features: ViewFeatures, families: Integers) -> tuple[Integers, Integers]:
    """The unit of each item, and the first item of each unit: items of a family with equal rows."""
    numbers: dict[tuple[int, bytes, bytes], int] = {}
    units = np.empty(features.rows, np.int64)
    first: list[int] = []
    for row in range(features.rows):
        entries = slice(features.indptr[row], features.indptr[row + 1])
        key = (int(families[row]), features.indices[entries].tobytes(), features.values[entries].tobytes())
        units[row] = numbers.setdefault(key, len(numbers))
        if units[row] == len(first):
            first.append(row)
    return units, np.array(first, np.int64)


def _compact(features: ViewFeatures) -> ViewFeatures:
    """Without the numbers of features that these rows do not have."""
    used, indices = np.unique(features.indices, return_inverse=True)
    return replace(features, indices=indices.astype(np.int64), names=tuple(features.names[i] for i in used))
