"""The metric kind `mean`: the mean of the scores, each answer weighing the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from benchbuilder.core import Statistic, mean_statistic
from benchbuilder.evaluation.metrics.base import ClusteredScore, Metric, MetricSpec


class MeanSpec(MetricSpec):
    """What an answer without a value counts (refused, not to be read): ``zero``, or nothing (``left_out``)."""

    missing: Literal["zero", "left_out"]


class MeanMetric(Metric):
    """The mean; of scores that are 0 or 1 this is the accuracy."""

    kind: ClassVar[str] = "mean"
    spec_class: ClassVar[type[MetricSpec]] = MeanSpec
    figures: ClassVar[tuple[str, ...]] = ("mean",)

    spec: MeanSpec

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The mean of all."""
        return {"mean": mean_statistic(score_values(scores, self.spec.missing), "no answer has a score")}


def score_values(scores: Sequence[ClusteredScore], missing: Literal["zero", "left_out"]) -> list[float | None]:
    """The values, with 0 or None where there is none."""
    none = 0.0 if missing == "zero" else None
    return [none if one.score.value is None else one.score.value for one in scores]
