"""The base class of metrics, which aggregate the scores of many answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from benchbuilder.config import KindSpec, Name
from benchbuilder.core import Score, Statistic


class ClusteredScore(NamedTuple):
    """A score with the fact of its item: scores of one fact form a cluster."""

    score: Score
    fact: str


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
        """The statistic of each figure, with one row per score, including scores without a value."""
