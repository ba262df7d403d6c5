"""The formulas of BM25 with the same floating-point operations as `rank_bm25`: scores are equal to the last bit."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from benchbuilder.retrieval.retrievers.array_cache import Array


@dataclass(frozen=True)
class Bm25Formula:
    """A variant of BM25 with its settings: Okapi, BM25L or BM25+ (Trotman et al. 2014), as in `rank_bm25`."""

    variant: Literal["okapi", "l", "plus"]
    k1: float
    b: float
    epsilon: float
    delta: float

    def checksum(self) -> str:
        """A checksum of the settings that shape the weights."""
        unused = "delta" if self.variant == "okapi" else "epsilon"
        own = {name: value for name, value in asdict(self).items() if name != unused}
        return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()

    def lengths(self, lengths: Array) -> Array:
        """The length normalisation of each text, shape (texts,)."""
        total = int(lengths.sum(dtype=np.int64))
        if not total:
            return np.zeros(len(lengths))
        parts = 1 - self.b + self.b * lengths.astype(np.int64) / (total / len(lengths))
        return parts if self.variant == "l" else self.k1 * parts

    def idf(self, holders: Array, count: int) -> Array:
        """The inverse document frequency of each term, from the number of texts that contain it, in term order."""
        if self.variant == "okapi":
            idf = _map_numbers(holders, lambda held: math.log(count - held + 0.5) - math.log(held + 0.5))
            if not len(idf):
                return idf
            # term after term, as sums of floating-point numbers depend on their order
            floor = self.epsilon * (float(np.cumsum(idf)[-1]) / len(idf))
            return np.where(idf < 0, floor, idf)
        if self.variant == "l":
            return _map_numbers(holders, lambda held: math.log(count + 1) - math.log(held + 0.5))
        return _map_numbers(holders, lambda held: math.log((count + 1) / held))

    def weights(self, idf: Array, times: Array, lengths: Array) -> Array:
        """The weight of each posting.

        Args:
            idf: Inverse document frequency per posting.
            times: Occurrences of the term in the text, per posting.
            lengths: Length normalisation per posting (see `lengths`).

        Returns:
            The addition to the score. For ``plus``, it must still be added to `delta` and multiplied by `idf`.
        """
        k1, times = self.k1, times.astype(np.int64)
        if self.variant == "okapi":
            return idf * (times * (k1 + 1) / (times + lengths))
        if self.variant == "l":
            ctd = times / lengths
            return idf * times * (k1 + 1) * (ctd + self.delta) / (k1 + ctd + self.delta)
        return (times * (k1 + 1)) / (lengths + times)


def _map_numbers(holders: Array, function: Callable[[int], float]) -> Array:
    """Apply `function` to each number; NumPy's logarithm may differ from the C library's in the last bit."""
    values, back = np.unique(holders, return_inverse=True)
    return np.array([function(int(value)) for value in values], np.float64)[back.reshape(-1)]
