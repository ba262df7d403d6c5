"""Has a model answer the question of a dialogue in the doctor's place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.core import Fact, Outcome, ProducedBy, Row
from benchbuilder.steps import MODEL_REASONS, NeedsModel, Port, ReplyFault, Writer, WriterSpec
from pydantic import Field

from benchbuilder_cmhe.hd.dialogue import AnswerChange, Dialogue

_FACT = Fact[Dialogue]


class AnswerDialogueSpec(WriterSpec):
    """`least` characters make an answer. The strategy is ``model``, or ``rules_then_model`` to do without one."""

    least: Annotated[int, Field(ge=1)]


class AnswerDialogue(Writer):
    """The dialogue with a model's answer; that of the doctor is in the dialogue that it was made of."""

    kind = "answer_dialogue"
    version = 1
    spec_class = AnswerDialogueSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "too_short": "The model's answer is too short to be one.",
        "not_new": "The model gives the doctor's own answer.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "what the patient asks",
        "title": "a short form of the question (may be empty)",
        "department": "the department (may be empty)",
    }
    reply_field = "answer"

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """Every question may be answered."""
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """No rule answers."""
        return NeedsModel()

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Question, title and department."""
        said: Dialogue = row.payload
        return {"question": said.question, "title": said.title, "department": said.department}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The doctor's answer twice: about as long as one, and not the same."""
        return row.payload.answer * 2

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The dialogue with the model's answer."""
        said: Dialogue = row.payload
        if len(text) < self.spec.least:
            return ReplyFault("too_short", f"{len(text)} characters")
        if text.strip() == said.answer.strip():
            return ReplyFault("not_new")
        change = AnswerChange(rule="generated", before="", after="")
        payload = said.model_copy(update={"answer": text, "changes": (*said.changes, change)})
        return _FACT.child(row, produced_by=produced_by, payload=payload)
