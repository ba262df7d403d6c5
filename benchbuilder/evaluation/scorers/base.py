"""Scorers: what gives answers their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.core import (
    Answer,
    Dropped,
    Item,
    Kept,
    NotApplicable,
    Outcome,
    ProducedBy,
    Rating,
    Score,
    StepContext,
)
from benchbuilder.models import Reply, Request


@dataclass(frozen=True, slots=True)
class AspectScore:
    """What a scorer says of an answer in one aspect; `value` is ``None`` where no value can be given.

    `counts` is what a metric sums, see `Score.counts`.
    """

    aspect: str
    value: float | None
    label: str = ""
    detail: str = ""
    ratings: tuple[Rating, ...] = ()
    counts: tuple[int, ...] = ()


ScorerResult = tuple[AspectScore, ...] | Dropped | NotApplicable
"""The marks of one answer (at least one, each with an aspect of its own), or why there are none."""
ScoringConversation = Generator[Request, Reply, ScorerResult]
"""The work on one answer where a model has to be asked: yields requests, is sent replies, returns what it scored."""


class Scorer(ABC):
    """Scores answers. Made from its spec without I/O; `open` reads what it needs; the same answer, the same marks.

    `reasons` is the closed list of reasons why an answer has no mark, with a sentence for each.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]
    reasons: ClassVar[Mapping[str, str]] = {}

    def __init__(self, spec: Any, context: StepContext) -> None:
        self.spec = spec
        self.context = context

    def fingerprint(self) -> Mapping[str, str]:
        """Versions and hashes of what shapes the marks besides the spec, for the key."""
        return {}

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of what people contributed so far, by name; see `Stage.external_inputs`."""
        return {}

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that it asks about each answer, if any: then `converse` scores, and not `score`."""
        return None

    def open(self) -> None:
        """Get ready to score in this process."""

    @abstractmethod
    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """What each answer (with its item) scored, in order."""

    def converse(self, answer: Answer, item: Item[Any]) -> ScoringConversation:  # noqa: ARG002
        """The work on one answer, where a model is asked."""
        raise TypeError(f"the scorer {self.kind!r} asks no model")
        yield  # pragma: no cover


def outcomes_of(
    result: ScorerResult, answer: Answer, item: Item[Any], scorer: str, produced_by: ProducedBy
) -> list[Outcome]:
    """The outcomes of an answer to `item` that scored so; the scores are its children, a slot for each aspect."""
    if not isinstance(result, tuple):
        return [result]
    return [
        Kept(
            Score.child(
                answer, produced_by=produced_by, slot=mark.aspect, item=item.id, model=answer.model, scorer=scorer,
                aspect=mark.aspect, value=mark.value, label=mark.label, detail=mark.detail, ratings=mark.ratings,
                counts=mark.counts,
            ),
            mark.aspect,
        )
        for mark in result
    ]  # fmt: skip
