"""Metrics aggregate the scores of many answers: the base class, and the kinds `mean`, `cluster_mean`, `micro_f1`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import DataError, Floats, Score, safe_ratio
from benchbuilder.evaluation.stats.statistic import (
    Statistic,
    cluster_codes,
    float_array,
    mean_statistic,
    statistic_of_sums,
)


class ClusteredScore(NamedTuple):
    """A score with the fact of its item: scores of one fact form a cluster."""

    score: Score
    fact: str


class ScoreColumns(Sequence[ClusteredScore]):
    """The scores of one system as columns. As rows, they are read when somebody first asks for one.

    Attributes:
        values: The value of each, nan without one.
        clusters: A number for the fact of each.
        counts: Three counts of each; ``None`` if one has not got three.
    """

    def __init__(
        self, values: Floats, clusters: NDArray[np.integer[Any]], counts: Floats | None,
        read: Callable[[], Sequence[ClusteredScore]],
    ) -> None:  # fmt: skip
        """`read` gives the rows."""
        self.values, self.clusters, self.counts, self._read = values, clusters, counts, read

    @classmethod
    def of(cls, scores: Sequence[ClusteredScore]) -> ScoreColumns:
        """The columns of these scores."""
        if isinstance(scores, ScoreColumns):
            return scores
        counts = None
        if all(len(row.score.counts) == 3 for row in scores):
            counts = np.array([row.score.counts for row in scores], np.float64).reshape(-1, 3)
        values = float_array([row.score.value for row in scores])
        return cls(values, cluster_codes([row.fact for row in scores]), counts, lambda: scores)

    @cached_property
    def _rows(self) -> Sequence[ClusteredScore]:
        return self._read()

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, index: int) -> ClusteredScore: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ClusteredScore]: ...

    def __getitem__(self, index: int | slice) -> ClusteredScore | Sequence[ClusteredScore]:
        return self._rows[index]


class MetricSpec(KindSpec):
    """Settings of every metric: the `aspect` it reads, and its `scorer`, or the first one if ``null``."""

    aspect: Name
    scorer: Name | None = None


class Metric(ABC):
    """Reduces the scores of one model in one aspect to figures between 0 and 1, without state or I/O.

    `figures` are the names of its figures, in display order.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[MetricSpec]]
    figures: ClassVar[tuple[str, ...]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The statistic of each figure, with one row per score, including scores without a value.

        A metric that takes `ScoreColumns.of` of the scores, and not their rows, is fast on millions of them.
        """


_NO_SCORE = "no answer has a score"


class MeanSpec(MetricSpec):
    """How an answer without a value (refused or unreadable) counts: as ``zero``, or not at all (``left_out``)."""

    missing: Literal["zero", "left_out"]


class MeanMetric(Metric):
    """The mean, with equal weight for every answer; for scores of 0 and 1 this is the accuracy."""

    kind: ClassVar[str] = "mean"
    spec_class: ClassVar[type[MetricSpec]] = MeanSpec
    figures: ClassVar[tuple[str, ...]] = ("mean",)

    spec: MeanSpec

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The mean of all scores."""
        return {"mean": mean_statistic(_score_values(scores, self.spec), _NO_SCORE)}


class ClusterMeanMetric(MeanMetric):
    """The mean over facts of the mean score per fact: every fact has equal weight, however many items ask about it."""

    kind: ClassVar[str] = "cluster_mean"

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The mean of the means per fact."""
        values = _score_values(scores, self.spec)
        present = ~np.isnan(values)
        facts = cluster_codes(ScoreColumns.of(scores).clusters[present])
        weights = 1 / np.bincount(facts)[facts]
        return {
            "mean": statistic_of_sums(
                [weights, weights * values[present]], lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), present,
                _NO_SCORE,
            )
        }  # fmt: skip


def _score_values(scores: Sequence[ClusteredScore], spec: MeanSpec) -> Floats:
    """The values of the scores; a missing value is 0 or nan, as the spec says."""
    values = ScoreColumns.of(scores).values
    return np.nan_to_num(values, nan=0.0) if spec.missing == "zero" else values


class MicroF1Metric(Metric):
    """Precision, recall and F1 over all items together (micro-averaged).

    Each score has three `counts`: correct, predicted and expected. The metric sums them over all answers and divides
    the sums. A scorer must give counts to every answer, refusals included: without counts, the number of expected
    labels would be unknown.
    """

    kind: ClassVar[str] = "micro_f1"
    spec_class: ClassVar[type[MetricSpec]] = MetricSpec
    figures: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The three figures; DataError if a score does not have three counts."""
        columns = ScoreColumns.of(scores)
        for row in scores if columns.counts is None else ():
            if len(row.score.counts) != 3:
                raise DataError(
                    f"a score of the aspect {self.spec.aspect!r} has no counts",
                    where=row.score.id,
                    why="micro_f1 sums how many are both given and wanted, given, and wanted",
                    next="use a scorer that counts, or another metric: evaluation.metrics",
                )
        counts = ScoreColumns.of(list(scores)).counts if columns.counts is None else columns.counts
        assert counts is not None, "every score has three"
        present = np.ones(len(scores), np.bool_)

        def statistic(numerator: int, *denominators: int) -> Statistic:
            return statistic_of_sums(
                list(counts.T),
                lambda sums: safe_ratio(
                    len(denominators) * sums[:, numerator], sums[:, list(denominators)].sum(axis=1)
                ),
                present,
                "nothing is given or wanted",
            )

        return {"precision": statistic(0, 1), "recall": statistic(0, 2), "f1": statistic(0, 1, 2)}
