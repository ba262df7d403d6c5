"""The base class of scorers, which give answers their scores."""

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
    Row,
    Score,
    StepContext,
)
from benchbuilder.models import Reply, Request


@dataclass(frozen=True, slots=True)
class AspectScore:
    """The score of an answer in one aspect; `value` is ``None`` if there is none.

    `counts` are summed by a metric, see `Score.counts`.
    """

    aspect: str
    value: float | None
    label: str = ""
    detail: str = ""
    ratings: tuple[Rating, ...] = ()
    counts: tuple[int, ...] = ()


ScorerResult = tuple[AspectScore, ...] | Dropped | NotApplicable
"""The scores of one answer (at least one, each in another aspect), or why there are none."""
ScoringConversation = Generator[Request, Reply, ScorerResult]
"""A generator that scores one answer by asking a model: yields requests, receives replies, returns the result."""


class Scorer(ABC):
    """Scores answers. It is made from its spec without I/O; `open` reads what it needs. Equal answers get equal scores.

    `reasons` is the closed list of reasons for a missing score, with a sentence for each.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[KindSpec]]
    reasons: ClassVar[Mapping[str, str]] = {}
    reads: ClassVar[type[Row] | None] = None
    """The class of further rows about each answer that it reads, by `rows_of`."""

    def __init__(self, spec: Any, context: StepContext) -> None:
        self.spec = spec
        self.context = context
        self._rows: Mapping[str, Sequence[Row]] = {}

    def take_rows(self, rows: Iterable[Row]) -> None:
        """Receive the rows about the answers that are scored next: children of these."""
        found: dict[str, list[Row]] = {}
        for row in rows:
            found.setdefault(row.of, []).append(row)
        self._rows = found

    def rows_of(self, answer: Answer) -> Sequence[Row]:
        """The rows about an answer, in order."""
        return self._rows.get(answer.id, ())

    def fingerprint(self) -> Mapping[str, str]:
        """Versions and hashes of everything besides the spec that affects scores, for the key."""
        return {}

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of people's contributions so far, by name; see `Step.external_inputs`."""
        return {}

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that it asks about each answer; if there is one, `converse` scores instead of `score`."""
        return None

    def open(self) -> None:
        """Get ready to score in this process."""

    @abstractmethod
    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """Score each answer (with its item), in order."""

    def converse(self, answer: Answer, item: Item[Any]) -> ScoringConversation:  # noqa: ARG002
        """Score one answer by asking the model."""
        yield from ()
        raise TypeError(f"the scorer {self.kind!r} asks no model")


def outcomes_of(
    result: ScorerResult, answer: Answer, item: Item[Any], scorer: str, produced_by: ProducedBy
) -> list[Outcome]:
    """The outcomes of an answer to `item`: its scores as children, with a branch per aspect, or why there are none."""
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
