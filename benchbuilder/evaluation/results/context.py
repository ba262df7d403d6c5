"""What every table of results is made with: the run, the words, and how intervals are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from benchbuilder.core.stats.intervals import Estimate, mean_estimate, sd
from benchbuilder.evaluation.results.run import Contender, Measure, Run
from benchbuilder.exporters.render.i18n import Wording
from benchbuilder.exporters.render.tables import Block, Cell, Line


class Drawn(TypedDict):
    """How intervals are drawn, as the measures take it."""

    samples: int
    level: float
    seed: int


@dataclass(frozen=True)
class Frame:
    """`power` is how often a difference of the smallest size that can be seen would be seen; `effect` is a difference
    for which the number of questions is worked out."""

    run: Run
    t: Wording
    drawn: Drawn
    power: float
    effect: float

    def mean(self, values: Mapping[str, float]) -> Estimate:
        """The mean of the values by item, with its interval over facts."""
        return mean_estimate(list(values.values()), self.run.clusters(values), **self.drawn)

    def mean_cell(self, values: Mapping[str, float], *, spread: bool = True) -> Cell:
        """The mean as a cell; with `spread` the standard deviation too."""
        deviation = sd(list(values.values())) if spread and len(values) > 1 else None
        return estimate_cell(self.mean(values), deviation)

    def aspect(self, name: str) -> str:
        """What an aspect is called."""
        return self.t.get(f"results.aspect.{name}", name)

    def title(self, measure: Measure) -> str:
        """What a measure is called: the aspect, and who scored it."""
        return self.titled(self.aspect(measure.aspect), measure)

    def titled(self, what: str, *measures: Measure) -> str:
        """`what`, and who scored it: the scorers of `measures`, which have the same role."""
        names = dict.fromkeys(one.scorer.removeprefix("judge_") for one in measures)
        scorer = self.t("report.list_comma").join(names)
        return self.t(f"results.by_{measures[0].role}", aspect=what, scorer=scorer)

    def line(self, one: Contender, *cells: Cell, block: Block = "own") -> Line:
        """The line of a contender."""
        tag = "" if one.group == "model" else self.t(f"results.group.{one.group}")
        return Line((Cell(words=one.called), *cells), one.group, tag, block)


def estimate_cell(found: Estimate, deviation: float | None = None) -> Cell:
    """An estimate as a cell."""
    return Cell(found.value, sd=deviation, low=found.low, high=found.high, n=found.n, why=found.why)
