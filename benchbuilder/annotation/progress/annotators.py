"""Measures how each annotator works: their pace, and their accuracy on gold tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GoldAccuracy:
    """How many judgements on gold tasks were `correct`, of those `judged`."""

    correct: int = 0
    judged: int = 0

    @property
    def proportion(self) -> float | None:
        """The proportion of correct judgements; ``None`` if there are none."""
        return self.correct / self.judged if self.judged else None


@dataclass(frozen=True)
class WorkPace:
    """Seconds that `tasks` finished tasks took: the median, the 10th and the 90th percentile (``None`` without any).

    `hasty` counts tasks that took less than the recipe's minimum; `per_hour` is tasks per hour of work.
    """

    tasks: int
    median: float | None
    tenth: float | None
    ninetieth: float | None
    hasty: int
    per_hour: float | None


def measure_pace(seconds: Sequence[float], min_seconds: int | None) -> WorkPace:
    """Measure the pace; `min_seconds` is the recipe's minimum time in seconds, if any."""
    hasty = sum(taken < min_seconds for taken in seconds) if min_seconds is not None else 0
    if not seconds:
        return WorkPace(0, None, None, None, hasty, None)
    tenth, median, ninetieth = (float(value) for value in np.percentile(seconds, (10, 50, 90)))
    total = sum(seconds)
    return WorkPace(len(seconds), median, tenth, ninetieth, hasty, len(seconds) * 3600 / total if total else None)
