"""Metrics: what the scores of many answers come to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import Score, Statistic


class ClusteredScore(NamedTuple):
    """A score with the fact that its item is about: scores of one fact belong together."""

    score: Score
    fact: str


class MetricSpec(KindSpec):
    """What every metric has: the `aspect` whose scores it reads, of the `scorer`, or of every scorer if ``null``."""

    aspect: Name
    scorer: Name | None = None


class Metric(ABC):
    """Reduces the scores that one model has in one aspect to figures between 0 and 1. Pure: made from its spec alone.

    `figures` are the names of what it gives, in the order in which they are shown.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[MetricSpec]]
    figures: ClassVar[tuple[str, ...]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def statistics(self, scores: Sequence[ClusteredScore]) -> Mapping[str, Statistic]:
        """For each of `figures` the statistic of these scores: one row for each, those without a value included."""
