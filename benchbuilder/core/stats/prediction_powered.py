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

from benchbuilder.core.stats.resampling import coded
from benchbuilder.core.stats.student_t import quantile
from benchbuilder.core.stats.weighted import Floats, Values, centred, numbers, pairs

TOO_FEW = "fewer than two rated rows have a score of the judge"
ONE_CLUSTER = "the rated rows are of fewer than two clusters"
SAME = "all rated rows have the same value: there is nothing to tell how sure the mean is"


@dataclass(frozen=True)
class Interval:
    """A mean with its interval; ``None`` where it is undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def width(self) -> float | None:
        """How far the bounds lie apart."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True)
class PredictionPowered(Interval):
    """The prediction-powered mean, beside that of the people alone, on the same rows, and that of the judge alone.

    `tuning` (0 to 1) says how much the judge counts; at 0 the interval is that of the people. `judge_alone` is the mean
    of all the judge's scores and has no interval that would hold what people think. `why` is words, where one of these
    is ``None``.
    """

    tuning: float = 0.0
    labelled: int = 0
    unlabelled: int = 0
    human_only: Interval = Interval()
    judge_alone: float | None = None
    why: str = ""


def prediction_powered_mean(
    labelled_truth: Values, labelled_predicted: Values, unlabelled_predicted: Values, level: float
) -> PredictionPowered:
    """The mean, its rows being independent of each other.

    Rated rows need both values, the others the judge's; rows where one is missing are left out.
    """
    truth, said, _ = pairs(labelled_truth, labelled_predicted)
    rest = _there(unlabelled_predicted)
    n, many = len(truth), len(rest)
    if n < 2:
        return _undefined(truth, said, rest, TOO_FEW)
    tuning = _tuning(truth, said, rest)
    human = truth.var(ddof=1) / n
    variance = (truth - tuning * said).var(ddof=1) / n
    if many > 1:
        variance += tuning**2 * rest.var(ddof=1) / many
    return _found(truth, said, rest, tuning, (float(human), float(variance)), quantile(level, n - 1))


def clustered_prediction_powered_mean(
    labelled_truth: Values,
    labelled_predicted: Values,
    labelled_clusters: Sequence[str],
    unlabelled_predicted: Values,
    unlabelled_clusters: Sequence[str],
    level: float,
) -> PredictionPowered:
    """The mean, where rows of a cluster hang together, whether they are rated or not.

    The variance is that of the sums by cluster of what each row contributes to the mean, and the tuning is the one
    that makes it smallest. Where every row is a cluster of its own, this is :func:`prediction_powered_mean` but for
    terms that vanish in large samples.
    """
    truth, said, present = pairs(labelled_truth, labelled_predicted)
    all_rest = numbers(unlabelled_predicted)
    there = ~np.isnan(all_rest)
    rest = all_rest[there]
    own = [name for name, kept in zip(labelled_clusters, present, strict=True) if kept]
    if len(truth) < 2:
        return _undefined(truth, said, rest, TOO_FEW)
    if len(set(own)) < 2:
        return _undefined(truth, said, rest, ONE_CLUSTER)
    codes = coded([*own, *(name for name, kept in zip(unlabelled_clusters, there, strict=True) if kept)])
    mine, theirs, size = codes[: len(own)], codes[len(own) :], int(codes.max()) + 1
    human = np.bincount(mine, centred(truth) / len(truth), size)
    shift = -np.bincount(mine, centred(said) / len(said), size)
    if len(rest):
        shift += np.bincount(theirs, centred(rest) / len(rest), size)
    squares = float((shift**2).sum())
    usable = len(rest) > 1 and squares > 0
    tuning = float(np.clip(-(human * shift).sum() / squares, 0, 1)) if usable else 0.0
    few = len(set(own)) / (len(set(own)) - 1)
    alone, both = few * float((human**2).sum()), few * float(((human + tuning * shift) ** 2).sum())
    return _found(truth, said, rest, tuning, (alone, both), quantile(level, len(set(own)) - 1))


def _tuning(truth: Floats, said: Floats, rest: Floats) -> float:
    """The weight of the judge that makes the variance smallest, kept to 0 to 1; 0 where the judge says nothing."""
    if len(rest) < 2:
        return 0.0
    n, many = len(truth), len(rest)
    variance = centred(np.concatenate([said, rest])).var(ddof=1)
    shared = (centred(truth) * centred(said)).sum() / (n - 1)
    return float(np.clip(shared / ((1 + n / many) * variance), 0, 1)) if variance > 0 else 0.0


def _found(
    truth: Floats, said: Floats, rest: Floats, tuning: float, variances: tuple[float, float], width: float
) -> PredictionPowered:
    """The outcome of two or more rated rows: `variances` are of the mean by people alone, and of the powered one."""
    human = float(truth.mean())
    value = human + tuning * (float(rest.mean()) - float(said.mean())) if len(rest) else human
    alone, powered = (width * variance**0.5 for variance in variances)
    found = PredictionPowered(
        value=value,
        tuning=tuning,
        labelled=len(truth),
        unlabelled=len(rest),
        human_only=Interval(human),
        judge_alone=float(np.concatenate([said, rest]).mean()),
        why=SAME,
    )
    if truth.min() == truth.max():
        return found
    human_only = Interval(human, human - alone, human + alone)
    return replace(found, low=value - powered, high=value + powered, human_only=human_only, why="")


def _undefined(truth: Floats, said: Floats, rest: Floats, why: str) -> PredictionPowered:
    everything = np.concatenate([said, rest])
    return PredictionPowered(
        labelled=len(truth),
        unlabelled=len(rest),
        human_only=Interval(float(truth.mean())) if len(truth) else Interval(),
        judge_alone=float(everything.mean()) if len(everything) else None,
        why=why,
    )


def _there(values: Values) -> Floats:
    found = numbers(values)
    return found[~np.isnan(found)]
