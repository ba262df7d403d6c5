"""The step `answer_by_rule`: answers of baselines, which need no model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import Answer, Item, Kept, Outcome, Row, Table, create_from_spec
from benchbuilder.evaluation.baselines.base import Baseline
from benchbuilder.steps import Map, Port


class AnswerByRuleSpec(StepSpec):
    """The baseline, and the name of its answers."""

    name: str
    baseline: Annotated[KindSpec, Slot("baseline")]


class AnswerByRule(Map):
    """Lets a baseline answer each item; one answer per item."""

    kind: ClassVar[str] = "answer_by_rule"
    spec_class: ClassVar[type[StepSpec]] = AnswerByRuleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    output: ClassVar[type[Row] | None] = Answer

    spec: AnswerByRuleSpec

    @property
    def _baseline(self) -> Baseline:
        return create_from_spec("baseline", self.spec.baseline)

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides its spec that affects the baseline's answers."""
        return self._baseline.fingerprint()

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of people's answers so far, for a baseline of human answers."""
        baseline = self._baseline
        baseline.open(self.context.workplace)
        return baseline.external_inputs()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the baseline."""
        self._open = self._baseline
        self._open.open(self.context.workplace)

    def map(self, row: Item[Any], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One answer."""
        text, outcome = self._open.answer(row)
        produced_by = self.produced_by(self.spec.baseline.kind)
        return [Kept(Answer.child(row, produced_by=produced_by, model=self.spec.name, text=text, outcome=outcome))]
