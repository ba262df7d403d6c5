"""The cluster bootstrap: how often each cluster is drawn, and the interval of the values that come of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = 6
_BATCH = 64
_SAME = "every judgement is the same"


def draws(clusters: int, samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each of `clusters` is drawn, one row per sample, in batches of rows; nothing of no clusters.

    A sample draws as many clusters as there are, with replacement. The rows depend on nothing but the arguments.
    """
    if clusters == 0:
        return
    random = np.random.default_rng(seed)
    for start in range(0, samples, _BATCH):
        rows = range(start, min(start + _BATCH, samples))
        yield np.array([np.bincount(random.integers(0, clusters, clusters), minlength=clusters) for _ in rows])


def interval(values: NDArray[np.float64], level: float, clusters: int, why: str = _SAME) -> dict[str, Any]:
    """``low`` and ``high`` at `level` of the defined `values`, or ``None`` for both and ``why`` in words.

    Values that are ``nan`` are left out and counted in ``left_out``; `why` says what is the matter with them.
    """
    if clusters < 2:
        return {"low": None, "high": None, "why": "undefined: one candidate alone has no interval"}
    if not len(values):
        return {"low": None, "high": None, "why": "undefined: no resample was drawn"}
    defined = values[~np.isnan(values)]
    left_out = len(values) - len(defined)
    if 2 * left_out > len(values):
        words = f"undefined: in {left_out} of {len(values)} resamples {why}"
        return {"low": None, "high": None, "why": words}
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    bounds: dict[str, Any] = {"low": round(float(low), DIGITS), "high": round(float(high), DIGITS)}
    return {**bounds, "left_out": left_out} if left_out else bounds
