"""Permuted labels, and the p values that they give.

The null hypothesis is that the text does not tell the label. A permutation is only valid if, under this hypothesis, the
permuted labels are as likely as the real ones. So the labels are exchanged in units that stay consistent:

- A family with as many yes as no keeps its labels or turns all of them round, by a fair coin. A quad is built like
  this: whether (c1, a1) and (c2, a2) are true or (c1, a2) and (c2, a1) is the one thing that the text must not tell. A
  free exchange inside the quad would produce labels that no design produces, such as c1 twice yes. Turning
  round is also a free exchange, only a rarer one, so it is valid wherever the free exchange is.
- A family with both labels in unequal numbers exchanges them freely among its items.
- Families with one label exchange them with such families of the same size, in the whole scope. They are not kept
  apart by source and relation: the shares of these would then be the same in every permutation, and a view that reads
  nothing but the relation would score the same each time, however much the relation tells.
- A pair has two sides; all pairs of a family are turned round together.

The number of yes in the scope is the same in every permutation. If the design balances a view inside each family, every
permutation scores exactly one half: the null sd is 0 and p is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.audit.features import Integers, Reals

Labels = NDArray[np.int8]
_FLOOR = 0.005
"""The least sd by which an excess is divided; see `family_p_values`."""
_EQUAL = 1e-9


class PermutationDraws:
    """Random numbers for each family: permutation b of one check belongs to permutation b of all others.

    So the largest score over all checks has the distribution that their overlap gives it. A family that is turned round
    is turned round in every target and scope. Exchanges agree between scopes, but not between targets: verdict and
    truth of single questions differ by a form that is drawn. Drawn apart they count as independent, which can only
    make p larger.
    """

    def __init__(self, families: Sequence[str], permutations: int, seed: int) -> None:
        self._names = sorted(set(families))
        self._row = {name: row for row, name in enumerate(self._names)}
        self._seed = seed
        self.permutations = permutations
        self._turning = self._numbers(0)
        self._exchanging: dict[str, NDArray[np.float32]] = {}

    def labels(self, target: str, labels: Labels, codes: Integers, names: Sequence[str]) -> Labels:
        """The 0/1 `labels` of items in columns, one per permutation; `codes` are the places of families in `names`."""
        if target not in self._exchanging:
            self._exchanging[target] = self._numbers(1 + crc32(target.encode()))
        rows = [self._row[name] for name in names]
        sizes = np.bincount(codes, minlength=len(names))
        yes = np.bincount(codes, labels, minlength=len(names)).astype(np.int64)
        drawn = np.repeat(labels[:, None], self.permutations, axis=1)
        balanced = 2 * yes == sizes
        drawn ^= ((self._turning[rows] < 0.5) & balanced[:, None])[codes]
        single = (yes == 0) | (yes == sizes)
        numbers = self._exchanging[target][rows]
        for size in np.unique(sizes[single]):
            chosen = np.flatnonzero(single & (sizes == size))
            swapped = _exchange((yes[chosen] > 0).astype(np.int8), numbers[chosen])
            place = np.searchsorted(chosen, codes)
            place[place == len(chosen)] = 0
            own = chosen[place] == codes
            drawn[own] = swapped[place[own]]
        for family in np.flatnonzero(~single & ~balanced):
            own = np.flatnonzero(codes == family)
            random = np.random.default_rng([self._seed, 2, crc32(target.encode()), self._row[names[int(family)]]])
            drawn[own] = _exchange(labels[own], random.random((len(own), self.permutations), np.float32))
        return drawn

    def _numbers(self, stream: int) -> NDArray[np.float32]:
        return np.random.default_rng([self._seed, 1, stream]).random((len(self._names), self.permutations), np.float32)

    def sides(self, codes: Integers, names: Sequence[str]) -> Labels:
        """Which side of each pair is right, per permutation: 1 as it is, 0 turned round."""
        return (self._turning[[self._row[name] for name in names]] >= 0.5).astype(np.int8)[codes]


def single_p(observed: float, permuted: Reals) -> float:
    """(1 + the number of permutations that score at least as much) / (1 + the number of permutations)."""
    return (1 + int((permuted >= observed - _EQUAL).sum())) / (1 + len(permuted))


def family_p_values(observed: Reals, permuted: Reals) -> Reals:
    """p of each check over all checks together, by Westfall and Young's largest standardised excess.

    `permuted` has one row per check. The mean and the sd of a check are over its permutations and the observed score,
    so that the observed one is exchangeable with them. An sd below 0.005 counts as 0.005: half a point is no leak, and
    a check that nearly always scores the same would otherwise dominate with a tiny jump.
    """
    if not len(observed):
        return np.zeros(0)
    everything = np.column_stack([observed, permuted])
    spread = np.maximum(everything.std(axis=1, keepdims=True), _FLOOR)
    excess = (everything - everything.mean(axis=1, keepdims=True)) / spread
    largest = excess[:, 1:].max(axis=0)
    reached = (largest[None, :] >= excess[:, :1] - _EQUAL).sum(axis=1)
    return (1 + reached) / (1 + permuted.shape[1])


def _exchange(labels: Labels, numbers: NDArray[np.float32]) -> Labels:
    """As many ones as in `labels`, in each column where `numbers` are smallest."""
    ones = int(labels.sum())
    drawn = np.zeros(numbers.shape, np.int8)
    if ones == len(labels):
        drawn[:] = 1
    elif ones:
        smallest = np.argpartition(numbers, ones - 1, axis=0)[:ones]
        np.put_along_axis(drawn, smallest, np.int8(1), axis=0)
    return drawn
