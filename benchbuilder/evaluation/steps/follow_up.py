"""Asking a model under evaluation once more, about what it answered before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Answer, Item, Kept, Row, SpecIssue
from benchbuilder.evaluation.steps.ask_model import AskModelStep, AskModelStepSpec
from benchbuilder.models import Conversation
from benchbuilder.steps import Port


class FollowUp(AskModelStep):
    """Puts an item to a model again, with an earlier answer, which the prompt sees as `earlier`; one answer each.

    Where the earlier answer holds no text (the model refused, or said nothing) nothing is asked: its outcome stands.
    """

    kind: ClassVar[str] = "follow_up"
    spec_class: ClassVar[type[StepSpec]] = AskModelStepSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="parent")}
    prompt_variables: ClassVar[Mapping[str, str]] = {
        **AskModelStep.prompt_variables,
        "earlier": "the earlier answer",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """Sampling settings that the model needs or does not know, and a prompt that is missing."""
        found = super().validate_inputs(rows)
        if self.spec.prompt is None:
            found.append(SpecIssue("prompt", "a follow-up needs a prompt that uses `earlier`", "null", ()))
        return found

    def converse(self, row: Answer, parents: Mapping[str, Any]) -> Conversation:
        """One more question, one more answer."""
        if not row.text:
            outcome = row.outcome if row.outcome not in ("complete", "truncated") else "empty"
            again = Answer.child(
                row, produced_by=self.produced_by("unasked"), model=self.spec.name, text="", outcome=outcome
            )
            return [Kept(again)]
        item: Item[Any] = parents["item"]
        answer = yield from self.ask(row, item, earlier=row.text)
        return [Kept(answer)]
