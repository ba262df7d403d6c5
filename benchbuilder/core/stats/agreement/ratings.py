"""Agreement of any number of raters: numbers with bootstrap intervals, or the reason why a number is undefined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from benchbuilder.core.stats.agreement.estimates import (
    AgreementMeasures,
    IntervalMeasures,
    NominalMeasures,
    OrdinalMeasures,
)
from benchbuilder.core.stats.agreement.layout import RatingLayout, RatingsOfUnit, RatingValue, build_layout
from benchbuilder.core.stats.weighted import REPORTED_DIGITS, draw_rows, percentile_interval

RatingLevel = Literal["nominal", "ordinal", "interval"]

_OBSERVED = ("percent", "mean_difference", "within_tolerance")
_OF_COMPLETE = ("icc21", "icc2k")
_HIGH_PERCENT, _LOW_KAPPA, _GAP = 0.8, 0.4, 0.2


def measure_agreement(
    clusters: Sequence[Sequence[RatingsOfUnit]],
    *,
    level: RatingLevel,
    samples: int,
    confidence_level: float,
    seed: int,
    tolerance: float | None = None,
    categories: Iterable[RatingValue] = (),
) -> dict[str, Any]:
    """Every measure at `level` of `clusters`, as plain JSON data.

    A cluster holds the units that are drawn together. A unit maps raters to values; a rater who gave none has ``None``
    or no entry. Units with fewer than two values are left out. The bootstrap draws clusters with replacement,
    `samples` times, and takes percentiles at `confidence_level`.

    The result has ``n`` (units), ``clusters``, ``raters`` (how many), and by name a measure as
    ``{"value", "low", "high"}`` or ``{"undefined": reason}``, see :func:`percentile_interval`:

    * nominal: percent, kappa (``kappa_kind`` is cohen for exactly two raters, else fleiss), ac1, alpha. AC1 depends on
      the number of categories: `categories` names those offered; without it, those given count.
    * ordinal: percent, alpha, and for exactly two raters weighted_kappa (``kappa_kind`` is quadratic).
    * interval: mean_difference, within_tolerance (proportion of pairs at most `tolerance` apart, if it is set), alpha,
      icc21 and icc2k of the ``complete`` units, which every rater rated.

    Where every value is the same, measures that correct for chance (AC1 too) or compare variances are undefined. The
    others (percent, mean_difference, within_tolerance) are undefined only without ratings.

    Raises:
        ValueError: A value is not finite, or not a number at the ordinal or interval level.
    """
    layout = build_layout(clusters, categories)
    measures = _measures(layout, level, tolerance)
    whole = measures.compute(np.ones((1, layout.clusters), np.int64))
    drawn = [measures.compute(batch.astype(np.int64)) for batch in draw_rows(np.arange(layout.clusters), samples, seed)]
    result = _sizes(layout, level)
    for name, values in whole.items():
        value = float(values[0])
        if reason := _why_undefined(name, value, layout):
            result[name] = {"undefined": reason}
            continue
        resampled = np.concatenate([np.zeros(0), *(batch[name] for batch in drawn)])
        why = {"why": "the variance is too small"} if name in _OF_COMPLETE else {}
        bounds = percentile_interval(resampled, confidence_level, layout.clusters, **why)
        result[name] = {"value": round(value, REPORTED_DIGITS) + 0.0, **bounds}
    return result


def _sizes(layout: RatingLayout, level: RatingLevel) -> dict[str, Any]:
    """How much was rated, and which kappa is measured."""
    sizes: dict[str, Any] = {"n": len(layout.sizes), "clusters": layout.clusters, "raters": layout.raters}
    if level == "interval":
        return {**sizes, "complete": int(layout.is_complete_unit().sum())}
    if level == "nominal":
        return {**sizes, "kappa_kind": "cohen" if layout.raters == 2 else "fleiss"}
    return {**sizes, "kappa_kind": "quadratic"} if layout.raters == 2 else sizes


def has_prevalence_paradox(result: Mapping[str, Any]) -> bool:
    """Whether `result` shows the prevalence paradox: people mostly agree, yet kappa is low and AC1 is not.

    That is: percent is at least 0.8, kappa below 0.4, and AC1 at least 0.2 above kappa. False if one of them is
    undefined or was not measured.
    """
    percent, kappa, ac1 = (result.get(name, {}).get("value") for name in ("percent", "kappa", "ac1"))
    if percent is None or kappa is None or ac1 is None:
        return False
    return percent >= _HIGH_PERCENT and kappa < _LOW_KAPPA and ac1 - kappa >= _GAP


def _measures(layout: RatingLayout, level: RatingLevel, tolerance: float | None) -> AgreementMeasures:
    if level == "nominal":
        return NominalMeasures(layout)
    return OrdinalMeasures(layout) if level == "ordinal" else IntervalMeasures(layout, tolerance)


def _why_undefined(name: str, value: float, layout: RatingLayout) -> str:
    """Why there is no value; empty if there is one."""
    if not len(layout.sizes):
        return "undefined: there is nothing that two annotators judged"
    given = np.unique(layout.code)
    if name not in _OBSERVED and len(given) == 1:
        only = layout.categories[int(given[0])]
        people = "both annotators" if layout.raters == 2 else f"all {layout.raters} annotators"
        return f"undefined: {people} gave only {only if isinstance(only, str) else f'{only:g}'}"
    if not np.isnan(value):
        return ""
    if layout.is_complete_unit().sum() < 2:
        return f"undefined: fewer than two items were judged by all {layout.raters} annotators"
    return "undefined: the judgements do not tell the items apart"
