"""Draws of a bootstrap over clusters, and what is made of them: a whole bootstrap takes a few calls."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def safe_ratio(numerator: Floats | np.float64, denominator: Floats | np.float64) -> Floats:
    """The quotient of arrays that broadcast; nan where the divisor is zero or less."""
    above, below = np.broadcast_arrays(np.asarray(numerator, np.float64), np.asarray(denominator, np.float64))
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


_CELLS = 1 << 21
_CACHED_CELLS = 1 << 25
REPORTED_DIGITS = 6
_SAME = "every judgement is the same"


def draw_rows(codes: NDArray[np.intp], samples: int, seed: int) -> Iterator[Floats]:
    """How often each row is drawn, in batches of shape ``(samples, rows)``; nothing without rows.

    `codes` number the clusters from 0. A sample draws as many clusters as there are, with replacement, each with all
    its rows. The draws depend only on the number of clusters, `samples` and `seed`.
    """
    if not len(codes):
        return
    clusters = int(codes.max()) + 1
    batch = max(1, _CELLS // len(codes))
    if clusters * samples <= _CACHED_CELLS and clusters < 1 << 16:
        table = _table(clusters, samples, seed)
        for start in range(0, samples, batch):
            yield np.take(table[start : start + batch], codes, axis=1).astype(np.float64)
        return
    random = np.random.default_rng(seed)
    for start in range(0, samples, batch):
        counts = _counts(random, min(batch, samples - start), clusters)
        yield np.take(counts, codes, axis=1).astype(np.float64)


@lru_cache(maxsize=2)
def _table(clusters: int, samples: int, seed: int) -> NDArray[np.uint16]:
    random = np.random.default_rng(seed)
    table, batch = np.empty((samples, clusters), np.uint16), max(1, _CELLS // clusters)
    for start in range(0, samples, batch):
        table[start : start + batch] = _counts(random, min(batch, samples - start), clusters)
    table.flags.writeable = False
    return table


def _counts(random: np.random.Generator, samples: int, clusters: int) -> NDArray[np.intp]:
    """One row per sample; the rows are the same in batches of any size."""
    drawn = random.integers(0, clusters, (samples, clusters)) + np.arange(samples)[:, np.newaxis] * clusters
    return np.bincount(drawn.ravel(), minlength=samples * clusters).reshape(samples, clusters)


def percentile_interval(values: NDArray[np.float64], level: float, clusters: int, why: str = _SAME) -> dict[str, Any]:
    """``low`` and ``high`` at `level` of the defined `values`, or ``None`` for both and the reason in ``why``.

    Values that are ``nan`` are left out and counted in ``left_out``; `why` explains them.
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
    bounds: dict[str, Any] = {"low": round(float(low), REPORTED_DIGITS), "high": round(float(high), REPORTED_DIGITS)}
    return {**bounds, "left_out": left_out} if left_out else bounds
