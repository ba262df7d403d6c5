"""Steps that score the answers of one model: `score` by itself, `score_by_model` by asking a model about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Answer,
    AnswerClaim,
    GatherPiece,
    GatherStream,
    Item,
    OutcomeBatch,
    Row,
    Score,
    StepContext,
    Table,
    create_from_spec,
)
from benchbuilder.evaluation.scorers.base import Scorer, outcomes_of
from benchbuilder.evaluation.steps.outcome_columns import outcome_columns
from benchbuilder.models import Conversation
from benchbuilder.steps import Gather, Port, PromptedMap, Step, model_identity

_CHUNK_SIZE = 2_000
"""Answers per call of a scorer: enough for judges to sort by length, few enough to bound memory."""


class ScoreSpec(StepSpec):
    """The scorer, and its name in the recipe."""

    name: str
    scorer: Annotated[KindSpec, Slot("scorer")]


class _ScoringStep(Step):
    """A step with a scorer. The reasons for missing scores are those of the scorer."""

    version: ClassVar[int] = 2
    spec_class: ClassVar[type[StepSpec]] = ScoreSpec
    output: ClassVar[type[Row] | None] = Score

    spec: ScoreSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.scorer: Scorer = create_from_spec("scorer", spec.scorer, context)
        self.reasons = dict(self.scorer.reasons)  # pyright: ignore[reportAttributeAccessIssue] - closed all the same

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides the spec that affects scores."""
        return self.scorer.fingerprint()

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of people's ratings so far, for a scorer of human ratings."""
        return self.scorer.external_inputs()

    def needs_people(self) -> bool:
        """Whether people's ratings are the scores."""
        return type(self.scorer).external_inputs is not Scorer.external_inputs


class ScoreAnswers(_ScoringStep, Gather):
    """Lets a scorer score answers without a model."""

    kind: ClassVar[str] = "score"
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Answer),
        "item": Port(Item, mode="lookup"),
        "claims": Port(AnswerClaim, mode="lookup", optional=True),
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Open the scorer."""
        self._items: Table[Item[Any]] | None = lookups["item"]
        self._claims = lookups.get("claims")
        self.scorer.open()

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """The scores of all answers, some at a time: neither all answers nor all items are held."""
        return GatherStream(self._pieces(tables["each"]))

    def _pieces(self, answers: Table[Answer]) -> Iterator[GatherPiece]:
        for first, window in answers.windows(_CHUNK_SIZE):
            yield GatherPiece(first + np.arange(len(window)), window, self._scored(list(window)))
        # a plan has a step per model: release the benchmark and a judge's weights after each
        self._items, self._claims, self.scorer = None, None, create_from_spec("scorer", self.spec.scorer, self.context)

    def _scored(self, answers: Sequence[Answer]) -> OutcomeBatch:
        """The outcomes of some answers."""
        parents = {parent for answer in answers for parent in answer.parents}
        items = {} if self._items is None else {item.id: item for item in self._items.find(parents)}
        pairs = [(answer, answer.find_item(items)) for answer in answers]
        produced_by = self.produced_by(self.spec.scorer.kind)
        if self._claims is not None:
            self.scorer.take_rows(self._claims.find({answer.id for answer in answers}, "of"))
        scored = enumerate(zip(pairs, self.scorer.score(pairs), strict=True))
        return outcome_columns((
            (place, outcome) for place, ((answer, item), marks) in scored
            for outcome in outcomes_of(marks, answer, item, self.spec.name, produced_by)
        ), Score)  # fmt: skip


class ScoreByModel(_ScoringStep, PromptedMap):
    """Lets a scorer ask its model about each answer."""

    kind: ClassVar[str] = "score_by_model"
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="parent")}
    slots = "many"

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that the scorer asks."""
        return self.scorer.model_spec

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides the spec that affects scores: the identity of the model."""
        return {**super().fingerprint(), **({} if self.model_spec is None else model_identity(self.model_spec))}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the scorer."""
        self.scorer.open()

    def converse(self, row: Answer, parents: Mapping[str, Any]) -> Conversation:
        """One answer."""
        scored = yield from self.scorer.converse(row, parents["item"])
        return outcomes_of(scored, row, parents["item"], self.spec.name, self.produced_by(self.spec.scorer.kind))
