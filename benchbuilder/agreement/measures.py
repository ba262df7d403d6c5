"""Agreement of two coders in numbers with bootstrap intervals, or in words where a number is undefined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.agreement.coefficients import (
    Coefficient,
    Counts,
    alpha_of_two,
    cohen_kappa,
    contingency,
    gwet_ac1,
    percent,
)

MEASURES: Mapping[str, Coefficient] = {
    "percent": percent,
    "kappa": cohen_kappa,
    "ac1": gwet_ac1,
    "alpha": alpha_of_two,
}
_DIGITS = 6


def measure(
    clusters: Sequence[Sequence[tuple[int, int]]], *, categories: int, samples: int, level: float, seed: int
) -> dict[str, Any]:
    """Every measure of `clusters`, as plain JSON data.

    A cluster holds the (first, second) judgements that hang together (all paragraphs of one candidate); the
    bootstrap draws clusters with replacement, `samples` times, and takes percentiles at `level`. The result has
    ``n`` (judgements), ``clusters``, ``table`` (counts, first coder by row) and for each name of `MEASURES` either
    ``{"value", "low", "high"}`` or ``{"undefined": words}``. Where there is a value but no interval, ``low`` and
    ``high`` are ``None`` and ``why`` says so in words. Resamples in which the measure is undefined are left out of
    the interval and counted in ``left_out``.
    """
    filled = [cluster for cluster in clusters if cluster]
    tables = np.array([contingency(cluster, categories) for cluster in filled]).reshape(-1, categories, categories)
    whole: Counts = tables.sum(0)
    draws = _resample(tables, samples, seed)
    found: dict[str, Any] = {
        "n": int(whole.sum()),
        "clusters": len(filled),
        "table": [[int(n) for n in row] for row in whole],
    }
    for name, coefficient in MEASURES.items():
        value = float(coefficient(whole))
        if np.isnan(value):
            found[name] = {"undefined": _why_undefined(whole)}
        else:
            found[name] = {"value": round(value, _DIGITS), **_interval(coefficient(draws), level, len(filled))}
    return found


def _resample(tables: Counts, samples: int, seed: int) -> Counts:
    """The summed tables of `samples` draws of as many clusters as there are, with replacement."""
    count = len(tables)
    if count == 0:
        return np.zeros((0, *tables.shape[1:]))
    random = np.random.default_rng(seed)
    flat = tables.reshape(count, -1)
    sums = [np.bincount(random.integers(0, count, count), minlength=count) @ flat for _ in range(samples)]
    return np.array(sums).reshape(samples, *tables.shape[1:])


def _interval(values: NDArray[np.float64], level: float, clusters: int) -> dict[str, Any]:
    if clusters < 2:
        return {"low": None, "high": None, "why": "undefined: one candidate alone has no interval"}
    defined = values[~np.isnan(values)]
    left_out = len(values) - len(defined)
    if 2 * left_out > len(values):
        why = f"undefined: in {left_out} of {len(values)} resamples every judgement is the same"
        return {"low": None, "high": None, "why": why}
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    bounds: dict[str, Any] = {"low": round(float(low), _DIGITS), "high": round(float(high), _DIGITS)}
    return {**bounds, "left_out": left_out} if left_out else bounds


def _why_undefined(table: Counts) -> str:
    if table.sum() == 0:
        return "undefined: there is nothing that both annotators judged"
    only = int(np.argmax(np.diagonal(table)))
    return f"undefined: both annotators gave only {only}"
