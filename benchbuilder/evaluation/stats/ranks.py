"""Ranks, ties and inversions of weighted rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats

_BLOCK = 64


class TieGroups:
    """The groups of equal values of a column, from the lowest value to the highest.

    `group` is the group of each row, `groups` their number. Weights have shape ``(draws, rows)``.
    """

    def __init__(self, values: Floats) -> None:
        distinct, group = np.unique(values, return_inverse=True)
        self.group = group.reshape(-1)
        self.groups = len(distinct)
        self._order = np.argsort(self.group, kind="stable")
        self._starts = np.searchsorted(self.group[self._order], np.arange(self.groups))

    def sums(self, weights: Floats) -> Floats:
        """The weight of each group, of shape ``(draws, groups)``."""
        if not self.groups:
            return np.zeros((len(weights), 0))
        return np.add.reduceat(np.take(weights, self._order, axis=1), self._starts, axis=1)

    def tied_pairs(self, weights: Floats) -> Floats:
        """How many pairs of rows have the same value, in each draw."""
        found = self.sums(weights)
        return (found * (found - 1)).sum(1) / 2

    def mid_ranks(self, weights: Floats) -> Floats:
        """The rank of each row in each draw, from 1; equal values share the mean of their ranks."""
        found = self.sums(weights)
        middle = found.cumsum(1) - found + (found + 1) / 2
        return np.take(middle, self.group, axis=1)


def discordant_pairs(first: Floats, second: Floats) -> Callable[[Floats], Floats]:
    """A function that counts the pairs of weighted rows in opposite orders in the two columns; ties do not count.

    It counts inversions by merging, from blocks in which every pair is compared. Only weights change from draw to draw,
    so every step is prepared once.
    """
    rows = len(first)
    size = 1 << max(rows - 1, 0).bit_length()
    width = min(size, _BLOCK)
    order = np.concatenate([np.lexsort((second, first)), np.arange(rows, size)])
    rank = np.concatenate([np.unique(second, return_inverse=True)[1].reshape(-1), np.full(size - rows, rows)])[order]
    blocks = rank.reshape(-1, width)
    inside = np.triu(blocks[:, :, None] > blocks[:, None, :]).astype(np.float64)
    steps = _merges(rank, order, width)

    def of(weights: Floats) -> Floats:
        draws = len(weights)
        padded = np.concatenate([weights, np.zeros((draws, size - rows))], axis=1)
        drawn = np.take(padded, order, axis=1).reshape(draws, -1, width).transpose(1, 0, 2)
        found = ((drawn @ inside) * drawn).sum((0, 2))
        for merged, late in steps:
            drawn = np.take(padded, merged, axis=1).reshape(draws, *late.shape)
            before = (drawn * late).cumsum(2)
            found += np.einsum("ijk,ijk->i", drawn * (1 - late), before)
        return found

    return of


def _merges(rank: NDArray[np.int64], order: NDArray[np.int64], width: int) -> list[tuple[NDArray[np.int64], Floats]]:
    """For each step, two blocks at a time: the rows of both by rank, and a mask of the later block's rows.

    Among equal ranks the earlier block's rows come first, so a row is discordant with the later rows before it.
    """
    place = np.arange(len(rank))
    steps: list[tuple[NDArray[np.int64], Floats]] = []
    while width < len(rank):
        late = place % (2 * width) >= width
        merged = np.lexsort((late, rank, place // (2 * width)))
        width *= 2
        steps.append((order[merged], late[merged].astype(np.float64).reshape(-1, width)))
    return steps
