"""What every table of results is made with: the run, the words, and how intervals are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from benchbuilder.core import Estimate, mean_estimate, sample_sd
from benchbuilder.evaluation.results.run import EvaluatedSystem, EvaluationRun, ScoredAspect
from benchbuilder.exporters import ReportTexts, TableBlock, TableCell, TableLine


class BootstrapSettings(TypedDict):
    """How intervals are drawn, as the measures take it."""

    samples: int
    level: float
    seed: int


@dataclass(frozen=True)
class ResultsFrame:
    """`power` is how often a difference of the smallest size that can be seen would be seen; `effect` is a difference
    for which the number of questions is worked out."""

    run: EvaluationRun
    t: ReportTexts
    bootstrap: BootstrapSettings
    power: float
    effect: float

    def mean(self, values: Mapping[str, float]) -> Estimate:
        """The mean of the values by item, with its interval over facts."""
        return mean_estimate(list(values.values()), self.run.clusters(values), **self.bootstrap)

    def mean_cell(self, values: Mapping[str, float], *, spread: bool = True) -> TableCell:
        """The mean as a cell; with `spread` the standard deviation too."""
        deviation = sample_sd(list(values.values())) if spread and len(values) > 1 else None
        return estimate_cell(self.mean(values), deviation)

    def aspect_label(self, name: str) -> str:
        """What an aspect is called."""
        return self.t.get(f"results.aspect.{name}", name)

    def measure_label(self, measure: ScoredAspect) -> str:
        """What a measure is called: the aspect, and who scored it."""
        return self.with_scorers(self.aspect_label(measure.aspect), measure)

    def with_scorers(self, text: str, *measures: ScoredAspect) -> str:
        """`text`, and who scored it: the scorers of `measures`, which have the same role."""
        names = dict.fromkeys(one.scorer.removeprefix("judge_") for one in measures)
        scorer = self.t("report.list_comma").join(names)
        return self.t(f"results.by_{measures[0].role}", aspect=text, scorer=scorer)

    def line(self, system: EvaluatedSystem, *cells: TableCell, block: TableBlock = "own") -> TableLine:
        """The line of a contender."""
        tag = "" if system.group == "model" else self.t(f"results.group.{system.group}")
        return TableLine((TableCell(words=system.display_name), *cells), system.group, tag, block)


def estimate_cell(estimate: Estimate, deviation: float | None = None) -> TableCell:
    """An estimate as a cell."""
    return TableCell(estimate.value, sd=deviation, low=estimate.low, high=estimate.high, n=estimate.n, why=estimate.why)
