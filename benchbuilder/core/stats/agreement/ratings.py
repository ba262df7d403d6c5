"""Agreement of any number of raters, in numbers with bootstrap intervals or in words where a number is undefined."""

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
from benchbuilder.core.stats.resampling import REPORTED_DIGITS, draw_rows, percentile_interval

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

    A cluster holds the units that hang together; a unit maps raters to values, with ``None`` or no entry where a
    rater gave none. Units with fewer than two values are left out. The bootstrap draws clusters with replacement,
    `samples` times, and takes percentiles at `confidence_level`.

    The result has ``n`` (units), ``clusters``, ``raters`` (how many), and by name a measure as
    ``{"value", "low", "high"}`` or ``{"undefined": words}``, with ``why`` and ``left_out`` as :func:`measure` has them:

    * nominal: percent, kappa (``kappa_kind`` is cohen where there are exactly two raters, else fleiss), ac1, alpha.
      AC1 depends on how many categories there are: `categories` names those offered, else those given count.
    * ordinal: percent, alpha, and of exactly two raters weighted_kappa (``kappa_kind`` is quadratic).
    * interval: mean_difference, within_tolerance (share of pairs at most `tolerance` apart, where it is given), alpha,
      icc21 and icc2k of the ``is_complete_unit`` units, those that every rater rated.

    What corrects for chance or compares variances is undefined where every value is the same, AC1 included; percent,
    mean_difference and within_tolerance say what was observed and are undefined only where there is nothing.

    Raises:
        ValueError: a value is not finite, or not a number at the ordinal or interval level.
    """
    layout = build_layout(clusters, categories)
    estimate = _estimate(layout, level, tolerance)
    found: dict[str, Any] = {"n": len(layout.sizes), "clusters": layout.clusters, "raters": layout.raters}
    if level == "interval":
        found["complete"] = int(layout.is_complete_unit().sum())
    elif level == "nominal":
        found["kappa_kind"] = "cohen" if layout.raters == 2 else "fleiss"
    elif layout.raters == 2:
        found["kappa_kind"] = "quadratic"
    whole = estimate.compute(np.ones((1, layout.clusters), np.int64))
    drawn = [estimate.compute(batch.astype(np.int64)) for batch in draw_rows(np.arange(layout.clusters), samples, seed)]
    for name, values in whole.items():
        value = float(values[0])
        if words := _why_undefined(name, value, layout):
            found[name] = {"undefined": words}
            continue
        resampled = np.concatenate([np.zeros(0), *(batch[name] for batch in drawn)])
        why = {"why": "the variance is too small"} if name in _OF_COMPLETE else {}
        bounds = percentile_interval(resampled, confidence_level, layout.clusters, **why)
        found[name] = {"value": round(value, REPORTED_DIGITS) + 0.0, **bounds}
    return found


def has_prevalence_paradox(result: Mapping[str, Any]) -> bool:
    """Whether `result` shows the prevalence paradox: people mostly agree, yet kappa is low where AC1 is not.

    True where percent is at least 0.8, kappa below 0.4, and AC1 at least 0.2 above kappa. False where one of them is
    undefined or not measured at all.
    """
    percent, kappa, ac1 = (result.get(name, {}).get("value") for name in ("percent", "kappa", "ac1"))
    if percent is None or kappa is None or ac1 is None:
        return False
    return percent >= _HIGH_PERCENT and kappa < _LOW_KAPPA and ac1 - kappa >= _GAP


def _estimate(layout: RatingLayout, level: RatingLevel, tolerance: float | None) -> AgreementMeasures:
    if level == "nominal":
        return NominalMeasures(layout)
    return OrdinalMeasures(layout) if level == "ordinal" else IntervalMeasures(layout, tolerance)


def _why_undefined(name: str, value: float, layout: RatingLayout) -> str:
    """Why there is no value, in words; nothing where there is one."""
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
