"""An index of all runs of units in the texts of a benchmark; a corpus is streamed past it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchbuilder.evaluation.audit.matching.units import Hashes, Places, UnitText, run_hashes

_BITS = 24
_AT_ONCE = 1 << 19
"""Units whose runs are looked up at once."""
_COMMON = 20
"""A run that more items than this contain is a stock phrase: it says nothing about any of them."""


class RunHits(NamedTuple):
    """Runs of a corpus that the benchmark contains: where they begin in the corpus, their texts, and where there."""

    corpus: Places
    texts: Places
    places: Places


class RunIndex:
    """The runs of `length` units of texts.

    The hash of a run in the corpus is looked up in a table of bits first, which most runs do not pass, and then in the
    sorted hashes of the benchmark. Equal hashes are no proof: callers compare the texts.
    """

    def __init__(self, texts: Sequence[UnitText], items: Sequence[int], length: int) -> None:
        """`items` says which item each text is of."""
        self.length = length
        parts = [run_hashes(text.values, length) for text in texts]
        sizes = np.array([len(part) for part in parts], np.int64)
        hashes: Hashes = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
        owner = np.repeat(np.arange(len(texts)), sizes)
        place = np.arange(len(hashes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        common = _is_common(hashes, np.array(items, np.int64)[owner])
        order = np.flatnonzero(~common)
        order = order[np.argsort(hashes[order], kind="stable")]
        self._sorted, self._firsts = np.unique(hashes[order], return_index=True)
        self._ends = np.append(self._firsts[1:], len(order)).astype(np.int64)
        self._owners, self._places = owner[order], place[order]
        self.runs: Places = np.bincount(owner[order], minlength=len(texts))
        """By text, how many of its runs are looked for."""
        self._table = np.zeros(1 << _BITS, np.bool_)
        self._table[_first_bits(self._sorted)] = True

    def find(self, values: Hashes) -> RunHits:
        """Where the runs of a corpus, given by the values of its units, have the hash of a run of a text."""
        parts = [self._known(values, start) for start in range(0, len(values), _AT_ONCE)]
        places, ranks = (np.concatenate([part[at] for part in parts] or [np.zeros(0, np.int64)]) for at in (0, 1))
        counts = self._ends[ranks] - self._firsts[ranks]
        postings = np.repeat(self._firsts[ranks] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return RunHits(np.repeat(places, counts), self._owners[postings], self._places[postings])

    def _known(self, values: Hashes, start: int) -> tuple[Places, Places]:
        """Where runs that begin in one piece of a corpus are known, and the rank of their hashes."""
        hashes = run_hashes(values[start : start + _AT_ONCE + self.length - 1], self.length)
        places = np.flatnonzero(self._table[_first_bits(hashes)])
        ranks = np.searchsorted(self._sorted, hashes[places])
        found = ranks < len(self._sorted)
        places, ranks = places[found], ranks[found]
        found = self._sorted[ranks] == hashes[places]
        return places[found] + start, ranks[found]


def _first_bits(hashes: Hashes) -> Places:
    """The first bits of each hash: the last ones of a polynomial are the least random."""
    return (hashes >> np.uint64(64 - _BITS)).astype(np.int64)


def _is_common(hashes: Hashes, items: Places) -> NDArray[np.bool_]:
    """Which runs are in more than a few items."""
    if not len(hashes):
        return np.zeros(0, np.bool_)
    _, numbers = np.unique(hashes, return_inverse=True)
    pairs = np.unique(numbers.astype(np.int64) * (int(items.max()) + 1) + items)
    counts = np.bincount(pairs // (int(items.max()) + 1))
    return counts[numbers] > _COMMON
