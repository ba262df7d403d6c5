"""The step `score_by_model`: scores answers by asking a model about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import Answer, Item, Row, Score, StepContext, Table, create_from_spec
from benchbuilder.evaluation.scorers.base import Scorer, outcomes_of
from benchbuilder.models import Conversation
from benchbuilder.steps import Port, PromptedMap, model_identity


class ScoreByModelSpec(StepSpec):
    """The scorer, and its name in the recipe."""

    name: str
    scorer: Annotated[KindSpec, Slot("scorer")]


class ScoreByModel(PromptedMap):
    """Lets a scorer ask its model about each answer. The reasons for missing scores are those of the scorer."""

    kind: ClassVar[str] = "score_by_model"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[StepSpec]] = ScoreByModelSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="parent")}
    output: ClassVar[type[Row] | None] = Score
    slots = "many"

    spec: ScoreByModelSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.scorer: Scorer = create_from_spec("scorer", spec.scorer, context)
        self.reasons = dict(self.scorer.reasons)  # pyright: ignore[reportAttributeAccessIssue] - closed all the same

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that the scorer asks."""
        return self.scorer.model_spec

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides the spec that affects scores: the identity of the model."""
        return {**self.scorer.fingerprint(), **({} if self.model_spec is None else model_identity(self.model_spec))}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the scorer."""
        self.scorer.open()

    def converse(self, row: Answer, parents: Mapping[str, Any]) -> Conversation:
        """One answer."""
        scored = yield from self.scorer.converse(row, parents["item"])
        return outcomes_of(scored, row, parents["item"], self.spec.name, self.produced_by(self.spec.scorer.kind))
