"""Estimates with intervals from a bootstrap that draws whole clusters, and differences with a p value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, draw_rows
from benchbuilder.evaluation.stats.statistic import (
    Bools,
    Clusters,
    OptionalValues,
    Statistic,
    cluster_codes,
    float_array,
    mean_statistic,
)

WHY_NO_VALUES = "there is nothing to measure"
WHY_ONE_CLUSTER = "one cluster alone has no interval"


@dataclass(frozen=True)
class Estimate:
    """A number over `n` rows in `clusters` clusters, with the bounds of its percentile interval.

    `value` is ``None`` if it is undefined, `low` and `high` if there is no interval; `why` then gives the reason.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    why: str = ""


@dataclass(frozen=True)
class DifferenceEstimate(Estimate):
    """An estimate of a difference, with its two-sided bootstrap `p`: ``None`` if there is no interval, never 0.

    With k of B samples on the rarer side of zero (a difference of exactly zero is on both), `p` is
    2 (k + 1) / (B + 1), at most 1.
    """

    p: float | None = None


def mean_estimate(values: OptionalValues, clusters: Clusters, *, samples: int, level: float, seed: int) -> Estimate:
    """The mean of the `values` that are not missing."""
    return bootstrap_estimate(mean_statistic(values), clusters, samples=samples, level=level, seed=seed)


def bootstrap_estimate(statistic: Statistic, clusters: Clusters, *, samples: int, level: float, seed: int) -> Estimate:
    """The estimate of a statistic; `clusters` has one entry per row, also for rows with missing values."""
    return bootstrap_estimates({"": statistic}, clusters, samples=samples, level=level, seed=seed)[""]


def bootstrap_estimates(
    statistics: Mapping[str, Statistic], clusters: Clusters, *, samples: int, level: float, seed: int
) -> dict[str, Estimate]:
    """The estimate of each statistic by name; statistics of the same rows share their draws.

    Raises:
        ValueError: A statistic has another number of rows than there are `clusters`.
    """
    estimates: dict[str, Estimate] = {}
    for present, group in _by_rows(statistics, clusters):
        own = _clusters_present(clusters, present)
        resampled = _resampled([statistics[name] for name in group], own, samples, seed)
        for name, values in zip(group, resampled, strict=True):
            estimates[name] = _percentile_estimate(statistics[name], own, values, level)
    return {name: estimates[name] for name in statistics}


def paired_mean_difference(
    first: OptionalValues, second: OptionalValues, clusters: Clusters, *, samples: int, level: float, seed: int
) -> DifferenceEstimate:
    """The mean of `first` minus that of `second`, over the rows where neither is missing."""
    difference = mean_statistic(float_array(first) - float_array(second))
    return paired_estimate(difference, clusters, samples=samples, level=level, seed=seed)


def bootstrap_difference(
    first: Statistic, second: Statistic, clusters: Clusters, *, samples: int, level: float, seed: int
) -> DifferenceEstimate:
    """`first` minus `second`, both over the same rows in each draw.

    Raises:
        ValueError: They have different rows.
    """
    if not np.array_equal(first.present, second.present):
        raise ValueError("two statistics of different rows have no paired difference")
    why = first.why if first.why == second.why else f"{first.why}, or {second.why}"
    both = Statistic(lambda weights: first.compute(weights) - second.compute(weights), first.present, why)
    return paired_estimate(both, clusters, samples=samples, level=level, seed=seed)


def paired_estimate(
    statistic: Statistic, clusters: Clusters, *, samples: int, level: float, seed: int
) -> DifferenceEstimate:
    """The estimate of a statistic that is a difference."""
    ((present, _),) = _by_rows({"": statistic}, clusters)
    kept = _clusters_present(clusters, present)
    (values,) = _resampled([statistic], kept, samples, seed)
    estimate = _percentile_estimate(statistic, kept, values, level)
    p = None if estimate.low is None else _p(values[~np.isnan(values)])
    return DifferenceEstimate(**vars(estimate), p=p)


def sample_sd(values: OptionalValues) -> float:
    """The standard deviation of a sample (divisor n - 1), without missing values; nan for fewer than two."""
    numbers = float_array(values)
    kept = numbers[~np.isnan(numbers)]
    return float(kept.std(ddof=1)) if len(kept) > 1 else float("nan")


def _by_rows(statistics: Mapping[str, Statistic], clusters: Clusters) -> list[tuple[Bools, list[str]]]:
    groups: dict[bytes, tuple[Bools, list[str]]] = {}
    for name, statistic in statistics.items():
        if len(statistic.present) != len(clusters):
            raise ValueError(f"{len(statistic.present)} rows cannot belong to {len(clusters)} clusters, one for each")
        groups.setdefault(statistic.present.tobytes(), (statistic.present, []))[1].append(name)
    return list(groups.values())


def _clusters_present(clusters: Clusters, present: Bools) -> NDArray[np.intp]:
    """The numbers of the clusters of the rows that are present."""
    if isinstance(clusters, np.ndarray):
        return cluster_codes(clusters[present])
    return cluster_codes([cluster for cluster, kept in zip(clusters, present, strict=True) if kept])


def _resampled(statistics: Sequence[Statistic], codes: NDArray[np.intp], samples: int, seed: int) -> list[Floats]:
    if not len(codes) or codes.max() == 0:
        return [np.zeros(0) for _ in statistics]
    drawn = [[statistic.compute(weights) for statistic in statistics] for weights in draw_rows(codes, samples, seed)]
    return [np.concatenate(values) for values in zip(*drawn, strict=True)]


def _percentile_estimate(statistic: Statistic, codes: NDArray[np.intp], values: Floats, level: float) -> Estimate:
    """The estimate from the `values` of all draws; `codes` are the clusters of the rows that are present."""
    n, many = len(codes), int(codes.max()) + 1 if len(codes) else 0
    if not n:
        return Estimate(None, None, None, 0, 0, WHY_NO_VALUES)
    value = statistic.value()
    if np.isnan(value):
        return Estimate(None, None, None, n, many, statistic.why)
    if many < 2:
        return Estimate(value, None, None, n, many, WHY_ONE_CLUSTER)
    defined = values[~np.isnan(values)]
    undefined = len(values) - len(defined)
    if not len(defined) or 2 * undefined > len(values):
        words = f"no interval: in {undefined} of {len(values)} samples {statistic.why}"
        return Estimate(value, None, None, n, many, words)
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), n, many)


def _p(values: Floats) -> float:
    rarer = min(int((values <= 0).sum()), int((values >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(values) + 1))
