"""The metric kind `cluster_mean`: the mean of the scores, each fact weighing the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from benchbuilder.core import Statistic, float_array, safe_ratio, statistic_of_sums
from benchbuilder.evaluation.metrics.base import ClusteredScore, Metric, MetricSpec


class ClusterMeanSpec(MetricSpec):
    """What an answer without a value counts (refused, not to be read): ``zero``, or nothing (``left_out``)."""

    missing: Literal["zero", "left_out"]


class ClusterMeanMetric(Metric):
    """The mean over facts of the mean over the items of a fact: a fact with many items weighs no more than another."""

    kind: ClassVar[str] = "cluster_mean"
    spec_class: ClassVar[type[MetricSpec]] = ClusterMeanSpec
    figures: ClassVar[tuple[str, ...]] = ("mean",)

    spec: ClusterMeanSpec

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The mean of the facts' means."""
        none = 0.0 if self.spec.missing == "zero" else None
        values = float_array([none if one.score.value is None else one.score.value for one in scores])
        present = ~np.isnan(values)
        facts = [one.fact for one, there in zip(scores, present, strict=True) if there]
        sizes = Counter(facts)
        weights = np.array([1 / sizes[fact] for fact in facts], np.float64)
        return {
            "mean": statistic_of_sums(
                [weights, weights * values[present]], lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present,
                "no answer has a score",
            )
        }  # fmt: skip
