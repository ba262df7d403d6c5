"""Prediction-powered means: the benchmark's mean human score, from few human scores and a judge's scores of everything.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453). The judge's mean over
unrated rows is corrected by its error on rated rows. The better the judge agrees with people, the more it counts (power
tuning), down to not at all. The rated rows must be a random sample of all. The interval then contains the mean that
people would have given with probability `level`, however wrong the judge is. Bounds use Student's quantile for the
number of rated clusters, which widens them if these are few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchbuilder.core import Floats
from benchbuilder.evaluation.stats.statistic import (
    Clusters,
    OptionalValues,
    centre_values,
    cluster_codes,
    complete_pairs,
    float_array,
)
from benchbuilder.evaluation.stats.student_t import two_sided_quantile

WHY_TOO_FEW_RATED = "fewer than two rated rows have a score of the judge"
WHY_TOO_FEW_CLUSTERS = "the rated rows are of fewer than two clusters"
WHY_NO_VARIATION = "all rated rows have the same value: there is nothing to tell how sure the mean is"


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its interval; ``None`` if it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        """The distance of the bounds."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True)
class PredictionPowered(MeanInterval):
    """The prediction-powered mean, with the mean of people alone and of the judge alone.

    `tuning` (0 to 1) is the weight of the judge; at 0 the interval is that of the people. `judge_alone` is the mean of
    all the judge's scores; it has no interval, as none would cover what people think. `why` is the reason if one of
    these is ``None``.
    """

    tuning: float = 0.0
    labelled: int = 0
    unlabelled: int = 0
    human_only: MeanInterval = MeanInterval()
    judge_alone: float | None = None
    why: str = ""


def clustered_prediction_powered_mean(
    labelled_truth: OptionalValues,
    labelled_predicted: OptionalValues,
    labelled_clusters: Clusters,
    unlabelled_predicted: OptionalValues,
    unlabelled_clusters: Clusters,
    level: float,
) -> PredictionPowered:
    """The mean for rows that depend on each other within clusters, rated or not.

    The variance is that of the contributions to the mean, summed by cluster; the tuning minimises it. If every row is a
    cluster of its own, this is the estimator of the paper except for terms that vanish in large samples.

    Args:
        labelled_truth: People's values of the rated rows; rows without one of the values are left out.
        labelled_predicted: The judge's values of the rated rows.
        labelled_clusters: The clusters of the rated rows.
        unlabelled_predicted: The judge's values of the other rows; missing ones are left out.
        unlabelled_clusters: The clusters of the other rows.
        level: The level of the intervals.
    """
    truth, judged, present = complete_pairs(labelled_truth, labelled_predicted)
    all_rest = float_array(unlabelled_predicted)
    rest_present = ~np.isnan(all_rest)
    rest = all_rest[rest_present]
    own: list[Any] = [name for name, kept in zip(labelled_clusters, present, strict=True) if kept]
    if len(truth) < 2:
        return _undefined(truth, judged, rest, WHY_TOO_FEW_RATED)
    if len(set(own)) < 2:
        return _undefined(truth, judged, rest, WHY_TOO_FEW_CLUSTERS)
    codes = cluster_codes([*own, *(name for name, kept in zip(unlabelled_clusters, rest_present, strict=True) if kept)])
    mine, theirs, size = codes[: len(own)], codes[len(own) :], int(codes.max()) + 1
    human = np.bincount(mine, centre_values(truth) / len(truth), size)
    shift = -np.bincount(mine, centre_values(judged) / len(judged), size)
    if len(rest):
        shift += np.bincount(theirs, centre_values(rest) / len(rest), size)
    squares = float((shift**2).sum())
    usable = len(rest) > 1 and squares > 0
    tuning = float(np.clip(-(human * shift).sum() / squares, 0, 1)) if usable else 0.0
    few = len(set(own)) / (len(set(own)) - 1)
    alone, both = few * float((human**2).sum()), few * float(((human + tuning * shift) ** 2).sum())
    return _powered_result(truth, judged, rest, tuning, (alone, both), two_sided_quantile(level, len(set(own)) - 1))


def _powered_result(
    truth: Floats,
    judge_values: Floats,
    unlabelled_values: Floats,
    tuning: float,
    variances: tuple[float, float],
    width: float,
) -> PredictionPowered:
    """The result for two or more rated rows; `variances` are those of the mean by people, and of the powered one."""
    human = float(truth.mean())
    value = (
        human + tuning * (float(unlabelled_values.mean()) - float(judge_values.mean()))
        if len(unlabelled_values)
        else human
    )
    alone, powered = (width * variance**0.5 for variance in variances)
    result = PredictionPowered(
        value=value,
        tuning=tuning,
        labelled=len(truth),
        unlabelled=len(unlabelled_values),
        human_only=MeanInterval(human),
        judge_alone=float(np.concatenate([judge_values, unlabelled_values]).mean()),
        why=WHY_NO_VARIATION,
    )
    if truth.min() == truth.max():
        return result
    human_only = MeanInterval(human, human - alone, human + alone)
    return replace(result, low=value - powered, high=value + powered, human_only=human_only, why="")


def _undefined(truth: Floats, judge_values: Floats, unlabelled_values: Floats, why: str) -> PredictionPowered:
    everything = np.concatenate([judge_values, unlabelled_values])
    return PredictionPowered(
        labelled=len(truth),
        unlabelled=len(unlabelled_values),
        human_only=MeanInterval(float(truth.mean())) if len(truth) else MeanInterval(),
        judge_alone=float(everything.mean()) if len(everything) else None,
        why=why,
    )
