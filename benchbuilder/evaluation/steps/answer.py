"""Asking a model under evaluation: each item once, the question alone unless a prompt says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Item, Kept
from benchbuilder.evaluation.steps.ask_model import AskModelStep, AskModelStepSpec
from benchbuilder.models import Conversation
from benchbuilder.steps import Port


class AnswerItems(AskModelStep):
    """Puts each item to a model, zero-shot and in a single turn; one answer an item."""

    kind: ClassVar[str] = "answer"
    spec_class: ClassVar[type[StepSpec]] = AskModelStepSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}

    def converse(self, row: Item[Any], parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One question, one answer."""
        answer = yield from self.ask(row, row)
        return [Kept(answer)]
