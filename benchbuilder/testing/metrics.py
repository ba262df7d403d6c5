"""The contract of metrics."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import numpy as np

from benchbuilder.evaluation import ClusteredScore, Metric
from benchbuilder.testing.contract import require


def check_metric(make: Callable[[], Metric], scored: Sequence[ClusteredScore]) -> dict[str, float]:
    """Check a metric: its declared figures lie between 0 and 1, in any order of rows, and with every row counted twice.

    Args:
        make: Makes a new metric.
        scored: Example scores with their facts.

    Returns:
        The value of each figure; without scores, each is nan.

    Raises:
        ContractError: The metric breaks a promise.
    """
    metric = make()
    who = f"the metric {metric.kind!r}"
    pickle.dumps(metric)
    figures = _figures(metric, scored, who)
    for name, value in figures.items():
        require(0 <= value <= 1, f"{who} gives {value} for {name!r}")
    reordered = _figures(make(), scored[::-1], who)
    require(all(abs(reordered[name] - value) < 1e-9 for name, value in figures.items()), f"{who} depends on the order")
    for name, statistic in metric.statistics(scored).items():
        twice = float(statistic.compute(np.full((1, int(statistic.present.sum())), 2.0))[0])
        require(abs(twice - figures[name]) < 1e-9, f"{who} gives another {name!r} when every row counts twice")
    empty = _figures(metric, [], who)
    require(all(np.isnan(value) for value in empty.values()), f"{who} gives a figure without any score")
    return figures


def _figures(metric: Metric, scored: Sequence[ClusteredScore], who: str) -> dict[str, float]:
    statistics = metric.statistics(scored)
    require(
        tuple(statistics) == metric.figures, f"{who} gives {', '.join(statistics)}, not the figures that it declares"
    )
    for name, statistic in statistics.items():
        require(len(statistic.present) == len(scored), f"{who}: {name!r} does not have one row per score")
    return {name: statistic.value() for name, statistic in statistics.items()}
