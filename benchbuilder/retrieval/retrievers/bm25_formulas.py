"""The formulas of BM25, operation by operation as `rank_bm25` computes them: scores are equal to the last bit."""

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
    """A variant with its settings."""

    variant: Literal["okapi", "l", "plus"]
    k1: float
    b: float
    epsilon: float
    delta: float

    def checksum(self) -> str:
        """A checksum of what shapes the weights."""
        own = {name: value for name, value in asdict(self).items() if name != self._unused}
        return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()

    @property
    def _unused(self) -> str:
        return "delta" if self.variant == "okapi" else "epsilon"

    @property
    def adds_to_every_text(self) -> bool:
        """Whether a term adds to every text, also to those that lack it."""
        return self.variant == "plus" and self.delta > 0

    def lengths(self, lengths: Array) -> Array:
        """What the length of each text makes of a frequency in it."""
        total = int(lengths.sum(dtype=np.int64))
        if not total:
            return np.zeros(len(lengths))
        parts = 1 - self.b + self.b * lengths.astype(np.int64) / (total / len(lengths))
        return parts if self.variant == "l" else self.k1 * parts

    def idf(self, holders: Array, count: int) -> Array:
        """How rare each term is, of the numbers of texts that hold them, terms in the order of their first naming."""
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
        """What terms that texts hold so many `times` add to their scores; `lengths` are those of the method.

        Of ``plus`` what is yet to be added to `delta`, and then multiplied with `idf`.
        """
        k1, times = self.k1, times.astype(np.int64)
        if self.variant == "okapi":
            return idf * (times * (k1 + 1) / (times + lengths))
        if self.variant == "l":
            ctd = times / lengths
            return idf * times * (k1 + 1) * (ctd + self.delta) / (k1 + ctd + self.delta)
        return (times * (k1 + 1)) / (lengths + times)


def _map_numbers(holders: Array, function: Callable[[int], float]) -> Array:
    """`function` each number. NumPy's own logarithm may differ from the C library's in the last bit."""
    values, back = np.unique(holders, return_inverse=True)
    return np.array([function(int(value)) for value in values], np.float64)[back.reshape(-1)]
