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

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import KernelInverse, Matrix, kernel_inverse
from benchbuilder.evaluation.audit.features import Integers, Reals, ViewFeatures

_NOTHING = 1e-5
"""A prediction up to this size is rounding noise and counts as 0; targets are between -1 and 1."""
_MIX = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
"""Odd factors that mix the entries of a row into a number by which rows are compared."""


class HeldOutRidge:
    """The ridge of one view of the items of a scope, for any labels and folds."""

    def __init__(self, features: ViewFeatures, families: Integers) -> None:
        self._signed = features.signed
        self._unit, self._first = _units(features, families)
        self._order = np.argsort(self._unit, kind="stable")
        self._starts = np.searchsorted(self._unit[self._order], np.arange(len(self._first)))
        self._counts = np.bincount(self._unit).astype(np.float32)
        self._features = features.take(self._first)

    def guess(self, labels: NDArray[np.int8], folds: Integers) -> tuple[Reals, Reals]:
        """The balanced accuracy for each column of 0/1 `labels`, and the hits of the first: 1, 0 or a half per item.

        Each item is guessed from the other folds. The number of yes must be the same in all columns.
        """
        yes = self._yes(labels)
        agreed, total, first = np.zeros(yes.shape[1]), np.zeros(yes.shape[1]), np.zeros(len(yes))
        for units, signs in self._signs(yes, folds[self._first]):
            agreed += np.einsum("up,up->p", signs, yes[units])
            total += self._counts[units] @ signs
            first[units] = signs[:, 0]
        hits = 0.5 + np.where(labels[:, 0] == 1, 0.5, -0.5) * first[self._unit]
        n, positive = float(self._counts.sum()), float(yes[:, 0].sum())
        if self._signed:
            return 0.5 + (2 * agreed - total) / (2 * n), hits
        return 0.5 + (agreed / positive - (total - agreed) / (n - positive)) / 4, hits

    def _yes(self, labels: NDArray[np.int8]) -> Matrix:
        """The number of yes in each unit."""
        if len(self._first) == len(self._unit):
            return labels[self._first].astype(np.float32)
        yes = labels[self._order[self._starts]].astype(np.float32)
        for member in range(1, int(self._counts.max())):
            units = np.flatnonzero(self._counts > member)
            yes[units] += labels[self._order[self._starts[units] + member]]
        return yes

    def _signs(self, yes: Matrix, folds: Integers) -> Iterator[tuple[Integers, Matrix]]:
        """The signs of the predictions, for some units at a time."""
        if self._features.one_hot and not self._signed:
            return self._by_category(yes, folds)
        return self._by_ridge(yes, folds)

    def _by_category(self, yes: Matrix, folds: Integers) -> Iterator[tuple[Integers, Matrix]]:
        """In whole numbers: the sign of (yes in the category) * n - (all yes) * (size of the category), in training."""
        cells, cell = np.unique(self._features.indices * (int(folds.max()) + 1) + folds, return_inverse=True)
        order = np.argsort(cell, kind="stable")
        cell_yes = np.add.reduceat(yes[order], np.searchsorted(cell[order], np.arange(len(cells))), axis=0, dtype=float)
        cell_size = np.bincount(cell, self._counts)
        fold_of_cell = cells % (int(folds.max()) + 1)
        codes, category = np.unique(cells // (int(folds.max()) + 1), return_inverse=True)
        starts = np.searchsorted(category, np.arange(len(codes)))
        category_yes, category_size = np.add.reduceat(cell_yes, starts, axis=0), np.bincount(category, cell_size)
        all_yes, n = cell_yes.sum(axis=0), float(cell_size.sum())
        for fold in np.unique(folds):
            own = np.flatnonzero(fold_of_cell == fold)
            train_yes, train_n = all_yes - cell_yes[own].sum(axis=0), n - cell_size[own].sum()
            size = category_size[category[own]] - cell_size[own]
            signs = np.sign((category_yes[category[own]] - cell_yes[own]) * train_n - train_yes * size[:, None])
            units = np.flatnonzero(folds == fold)
            yield units, signs.astype(np.float32)[np.searchsorted(own, cell[units])]

    def _by_ridge(self, yes: Matrix, folds: Integers) -> Iterator[tuple[Integers, Matrix]]:
        weight = np.sqrt(self._counts)[:, None]
        n, all_yes = float(self._counts.sum()), yes.sum(axis=0, dtype=np.float64)
        middle = 0.5 if self._signed else float(all_yes[0]) / n
        columns = np.empty((len(yes), yes.shape[1] + (not self._signed)), np.float32)
        targets = columns[:, : yes.shape[1]]
        np.divide(yes, self._counts[:, None], out=targets)  # in place: these matrices are what an audit needs most of
        targets -= np.float32(middle)
        targets *= weight
        columns[:, yes.shape[1] :] = weight
        solved = [
            inverse.times(columns if len(units) == len(columns) else columns[units])
            for units, inverse in self._inverses
        ]
        for fold in np.unique(folds):
            inside = folds == fold
            train_n = n - float(self._counts[inside].sum())
            shift = ((all_yes - yes[inside].sum(axis=0, dtype=np.float64)) / train_n - middle).astype(np.float32)
            for (units, inverse), part in zip(self._inverses, solved, strict=True):
                held = np.flatnonzero(inside[units])
                own = units[held]
                predicted = columns[own] - inverse.solved(held, part[held])
                if not self._signed:
                    predicted = predicted[:, :-1] - shift * predicted[:, -1:]
                noise = _NOTHING * weight[own]
                yield own, (predicted > noise).astype(np.float32) - (predicted < -noise)

    @cached_property
    def _inverses(self) -> list[tuple[Integers, KernelInverse]]:
        rows = self._features.unit_rows()
        rows = replace(rows, values=rows.values * np.sqrt(self._counts)[rows.row_of_entry])
        groups = np.zeros(rows.rows, np.int64) if rows.groups is None else rows.groups
        return [
            (chosen, kernel_inverse(rows.take(chosen)))
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
    entries = features.indices.astype(np.uint64) * _MIX[0] + features.values.view(np.uint64)
    keys = [families.astype(np.uint64)]
    for factor in _MIX[1:]:
        mixed = entries * factor
        mixed ^= mixed >> np.uint64(29)
        mixed *= factor
        mixed ^= mixed >> np.uint64(32)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        keys.append(sums[features.indptr[1:]] - sums[features.indptr[:-1]])
    order = np.lexsort(keys)
    table = np.stack(keys)[:, order]
    new = np.concatenate([[True], (table[:, 1:] != table[:, :-1]).any(axis=0)])
    unit_of_item = np.empty(features.rows, np.int64)
    unit_of_item[order] = np.cumsum(new) - 1
    return unit_of_item, order[new]
