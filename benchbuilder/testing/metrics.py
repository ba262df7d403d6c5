"""The contract of metrics."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import numpy as np

from benchbuilder.evaluation.metrics.base import ClusteredScore, Metric
from benchbuilder.testing.contract import require


def check_metric(make: Callable[[], Metric], scored: Sequence[ClusteredScore]) -> dict[str, float]:
    """It gives the figures that it declares, between 0 and 1, the same in any order and if every row counts twice;
    nothing (nan) of no scores.

    Returns the figures.
    """
    metric = make()
    who = f"the metric {metric.kind!r}"
    pickle.dumps(metric)
    found = _figures(metric, scored, who)
    for name, value in found.items():
        require(0 <= value <= 1, f"{who} gives {value} for {name!r}")
    again = _figures(make(), scored[::-1], who)
    require(all(abs(again[name] - value) < 1e-9 for name, value in found.items()), f"{who} depends on the order")
    for name, statistic in metric.statistics(scored).items():
        twice = float(statistic.compute(np.full((1, int(statistic.present.sum())), 2.0))[0])
        require(abs(twice - found[name]) < 1e-9, f"{who} gives another {name!r} if every row counts twice")
    nothing = _figures(metric, [], who)
    require(all(np.isnan(value) for value in nothing.values()), f"{who} gives a figure of no scores")
    return found


def _figures(metric: Metric, scored: Sequence[ClusteredScore], who: str) -> dict[str, float]:
    statistics = metric.statistics(scored)
    require(tuple(statistics) == metric.figures, f"{who} gives {', '.join(statistics)}, not what it declares")
    for name, statistic in statistics.items():
        require(len(statistic.present) == len(scored), f"{who}: {name!r} has not a row for each score")
    return {name: statistic.value() for name, statistic in statistics.items()}
