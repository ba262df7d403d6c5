"""The metric kind `micro_f1`: precision, recall and F1 of what answers give against what is wanted, over all items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from benchbuilder.core import DataError, Statistic, safe_ratio, statistic_of_sums
from benchbuilder.evaluation.metrics.base import ClusteredScore, Metric, MetricSpec


class MicroF1Metric(Metric):
    """Sums over all answers what is both given and wanted, what is given and what is wanted, and divides the sums.

    These are the three `counts` of each score. An answer without counts (refused) gave nothing, but what was wanted
    of it is not known: scorers give counts to every answer.
    """

    kind: ClassVar[str] = "micro_f1"
    spec_class: ClassVar[type[MetricSpec]] = MetricSpec
    figures: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")

    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """The three figures; DataError if a score has no three counts."""
        for one in scores:
            if len(one.score.counts) != 3:
                raise DataError(
                    f"a score of the aspect {self.spec.aspect!r} has no counts", where=one.score.id,
                    why="micro_f1 sums how many are both given and wanted, given, and wanted",
                    next="use a scorer that counts, or another metric: evaluation.metrics",
                )  # fmt: skip
        present = np.ones(len(scores), np.bool_)
        columns = [np.array([one.score.counts[place] for one in scores], np.float64) for place in range(3)]

        def statistic(above: int, *below: int) -> Statistic:
            return statistic_of_sums(
                columns, lambda sums: safe_ratio(len(below) * sums[:, above], sums[:, list(below)].sum(axis=1)), present,
                "nothing is given or wanted",
            )  # fmt: skip

        return {"precision": statistic(0, 1), "recall": statistic(0, 2), "f1": statistic(0, 1, 2)}
