"""Prediction-powered means: the benchmark's mean human score, from few human scores and a judge's scores of everything.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453). The judge's mean over
the rows that nobody rated is put right by how far the judge is off on those that people rated; the judge counts as
much as its agreement with people lets it (power tuning), down to not at all. The rated rows must be a random sample of
all: the interval then holds the mean that people would have given with probability `level`, however wrong the judge is.
Bounds use Student's quantile for the number of rated rows or clusters, which widens them where these are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchbuilder.core.stats.resampling import cluster_codes
from benchbuilder.core.stats.student_t import two_sided_quantile
from benchbuilder.core.stats.weighted import Floats, OptionalValues, centre_values, complete_pairs, float_array

WHY_TOO_FEW_RATED = "fewer than two rated rows have a score of the judge"
WHY_TOO_FEW_CLUSTERS = "the rated rows are of fewer than two clusters"
WHY_NO_VARIATION = "all rated rows have the same value: there is nothing to tell how sure the mean is"


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its interval; ``None`` where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        """How far the bounds lie apart."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True)
class PredictionPowered(MeanInterval):
    """The prediction-powered mean, beside that of the people alone, on the same rows, and that of the judge alone.

    `tuning` (0 to 1) says how much the judge counts; at 0 the interval is that of the people. `judge_alone` is the mean
    of all the judge's scores and has no interval that would hold what people think. `why` is words, where one of these
    is ``None``.
    """

    tuning: float = 0.0
    labelled: int = 0
    unlabelled: int = 0
    human_only: MeanInterval = MeanInterval()
    judge_alone: float | None = None
    why: str = ""


def prediction_powered_mean(
    labelled_truth: OptionalValues,
    labelled_predicted: OptionalValues,
    unlabelled_predicted: OptionalValues,
    level: float,
) -> PredictionPowered:
    """The mean, its rows being independent of each other.

    Rated rows need both values, the others the judge's; rows where one is missing are left out.
    """
    truth, said, _ = complete_pairs(labelled_truth, labelled_predicted)
    rest = _present_values(unlabelled_predicted)
    n, many = len(truth), len(rest)
    if n < 2:
        return _undefined(truth, said, rest, WHY_TOO_FEW_RATED)
    tuning = _tuning(truth, said, rest)
    human = truth.var(ddof=1) / n
    variance = (truth - tuning * said).var(ddof=1) / n
    if many > 1:
        variance += tuning**2 * rest.var(ddof=1) / many
    return _powered_result(truth, said, rest, tuning, (float(human), float(variance)), two_sided_quantile(level, n - 1))


def clustered_prediction_powered_mean(
    labelled_truth: OptionalValues,
    labelled_predicted: OptionalValues,
    labelled_clusters: Sequence[str],
    unlabelled_predicted: OptionalValues,
    unlabelled_clusters: Sequence[str],
    level: float,
) -> PredictionPowered:
    """The mean, where rows of a cluster hang together, whether they are rated or not.

    The variance is that of the sums by cluster of what each row contributes to the mean, and the tuning is the one
    that makes it smallest. Where every row is a cluster of its own, this is :func:`prediction_powered_mean` but for
    terms that vanish in large samples.
    """
    truth, said, present = complete_pairs(labelled_truth, labelled_predicted)
    all_rest = float_array(unlabelled_predicted)
    there = ~np.isnan(all_rest)
    rest = all_rest[there]
    own = [name for name, kept in zip(labelled_clusters, present, strict=True) if kept]
    if len(truth) < 2:
        return _undefined(truth, said, rest, WHY_TOO_FEW_RATED)
    if len(set(own)) < 2:
        return _undefined(truth, said, rest, WHY_TOO_FEW_CLUSTERS)
    codes = cluster_codes([*own, *(name for name, kept in zip(unlabelled_clusters, there, strict=True) if kept)])
    mine, theirs, size = codes[: len(own)], codes[len(own) :], int(codes.max()) + 1
    human = np.bincount(mine, centre_values(truth) / len(truth), size)
    shift = -np.bincount(mine, centre_values(said) / len(said), size)
    if len(rest):
        shift += np.bincount(theirs, centre_values(rest) / len(rest), size)
    squares = float((shift**2).sum())
    usable = len(rest) > 1 and squares > 0
    tuning = float(np.clip(-(human * shift).sum() / squares, 0, 1)) if usable else 0.0
    few = len(set(own)) / (len(set(own)) - 1)
    alone, both = few * float((human**2).sum()), few * float(((human + tuning * shift) ** 2).sum())
    return _powered_result(truth, said, rest, tuning, (alone, both), two_sided_quantile(level, len(set(own)) - 1))


def _tuning(truth: Floats, judge_values: Floats, unlabelled_values: Floats) -> float:
    """The weight of the judge that makes the variance smallest, kept to 0 to 1; 0 where the judge says nothing."""
    if len(unlabelled_values) < 2:
        return 0.0
    n, many = len(truth), len(unlabelled_values)
    variance = centre_values(np.concatenate([judge_values, unlabelled_values])).var(ddof=1)
    shared = (centre_values(truth) * centre_values(judge_values)).sum() / (n - 1)
    return float(np.clip(shared / ((1 + n / many) * variance), 0, 1)) if variance > 0 else 0.0


def _powered_result(
    truth: Floats,
    judge_values: Floats,
    unlabelled_values: Floats,
    tuning: float,
    variances: tuple[float, float],
    width: float,
) -> PredictionPowered:
    """The outcome of two or more rated rows: `variances` are of the mean by people alone, and of the powered one."""
    human = float(truth.mean())
    value = (
        human + tuning * (float(unlabelled_values.mean()) - float(judge_values.mean()))
        if len(unlabelled_values)
        else human
    )
    alone, powered = (width * variance**0.5 for variance in variances)
    found = PredictionPowered(
        value=value,
        tuning=tuning,
        labelled=len(truth),
        unlabelled=len(unlabelled_values),
        human_only=MeanInterval(human),
        judge_alone=float(np.concatenate([judge_values, unlabelled_values]).mean()),
        why=WHY_NO_VARIATION,
    )
    if truth.min() == truth.max():
        return found
    human_only = MeanInterval(human, human - alone, human + alone)
    return replace(found, low=value - powered, high=value + powered, human_only=human_only, why="")


def _undefined(truth: Floats, judge_values: Floats, unlabelled_values: Floats, why: str) -> PredictionPowered:
    everything = np.concatenate([judge_values, unlabelled_values])
    return PredictionPowered(
        labelled=len(truth),
        unlabelled=len(unlabelled_values),
        human_only=MeanInterval(float(truth.mean())) if len(truth) else MeanInterval(),
        judge_alone=float(everything.mean()) if len(everything) else None,
        why=why,
    )


def _present_values(values: OptionalValues) -> Floats:
    found = float_array(values)
    return found[~np.isnan(found)]
