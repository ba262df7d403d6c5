"""Scorers: what gives answers their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.context import Context
from benchbuilder.core.records.outcomes import Dropped, Fate, Kept, NotApplicable
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.roles import Answer, Rating, Score
from benchbuilder.core.records.row import MadeBy
from benchbuilder.models.base import Reply, Request


@dataclass(frozen=True, slots=True)
class Mark:
    """What a scorer says of an answer in one aspect; `value` is ``None`` where no value can be given.

    `counts` is what a metric sums, see `Score.counts`.
    """

    aspect: str
    value: float | None
    label: str = ""
    detail: str = ""
    ratings: tuple[Rating, ...] = ()
    counts: tuple[int, ...] = ()


Scored = tuple[Mark, ...] | Dropped | NotApplicable
"""The marks of one answer (at least one, each with an aspect of its own), or why there are none."""
Scoring = Generator[Request, Reply, Scored]
"""The work on one answer where a model has to be asked: yields requests, is sent replies, returns what it scored."""


class Scorer(ABC):
    """Scores answers. Made from its spec without I/O; `open` reads what it needs; the same answer, the same marks.

    `reasons` is the closed list of reasons why an answer has no mark, with a sentence for each.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]
    reasons: ClassVar[Mapping[str, str]] = {}

    def __init__(self, spec: Any, context: Context) -> None:
        self.spec = spec
        self.context = context

    def fingerprint(self) -> Mapping[str, str]:
        """Versions and hashes of what shapes the marks besides the spec, for the key."""
        return {}

    def observes(self) -> Mapping[str, str]:
        """Hashes of what people contributed so far, by name; see `Stage.observes`."""
        return {}

    @property
    def asks(self) -> KindSpec | None:
        """The model that it asks about each answer, if any: then `converse` scores, and not `score`."""
        return None

    def open(self) -> None:
        """Get ready to score in this process."""

    @abstractmethod
    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[Scored]:
        """What each answer (with its item) scored, in order."""

    def converse(self, answer: Answer, item: Item[Any]) -> Scoring:  # noqa: ARG002
        """The work on one answer, where a model is asked."""
        raise TypeError(f"the scorer {self.kind!r} asks no model")
        yield  # pragma: no cover


def fates_of(scored: Scored, answer: Answer, item: Item[Any], scorer: str, made_by: MadeBy) -> list[Fate]:
    """The fates of an answer to `item` that scored so; the scores are its children, a slot for each aspect."""
    if not isinstance(scored, tuple):
        return [scored]
    return [
        Kept(
            Score.child(
                answer, made_by=made_by, slot=mark.aspect, item=item.id, model=answer.model, scorer=scorer,
                aspect=mark.aspect, value=mark.value, label=mark.label, detail=mark.detail, ratings=mark.ratings,
                counts=mark.counts,
            ),
            mark.aspect,
        )
        for mark in scored
    ]  # fmt: skip
