"""Drafts the form of a chat by a model, or leaves it empty for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, StepSpec
from benchbuilder.core import Dropped, Fact, Kept, Row
from benchbuilder.evaluation import neutralise_tags, tag_names
from benchbuilder.models import Conversation
from benchbuilder.steps import Port, ReplyFault
from pydantic import BaseModel, Field

from benchbuilder_cmhe.dd.asking import ASKING_REASONS, PromptedForJson, ask_json
from benchbuilder_cmhe.dd.chat import IntakeForm

_FORM = Fact[IntakeForm]


class DraftFormSpec(StepSpec):
    """What the model is asked; ``null`` asks nobody."""

    prompt: PromptRef | None = None
    rounds: Annotated[int, Field(ge=0, le=5)] = 0
    """Further replies that are asked for."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None


class FormReply(BaseModel):
    """The seven fields."""

    age: str
    sex: str
    symptoms: str
    examination: str
    history: str
    complaint: str
    diagnosis: str


class DraftForm(PromptedForJson):
    """A form for each consultation, of whatever payload: what people would be shown of it is what it is taken from.

    Without a model, the form is empty.
    """

    kind: ClassVar[str] = "draft_form"
    spec_class: ClassVar[type[StepSpec]] = DraftFormSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact)}
    output: ClassVar[type[Row] | None] = _FORM
    reasons: ClassVar[Mapping[str, str]] = ASKING_REASONS
    prompt_variables: ClassVar[Mapping[str, str]] = {"chat": "the consultation, a line each turn, with who speaks"}

    spec: DraftFormSpec

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One form a consultation."""
        text = "\n".join(part for _, part in row.payload.display_fields())
        if self.model_spec is None or self._prompt is None:
            return [Kept(_FORM.child(row, produced_by=self.produced_by("empty"), payload=IntakeForm(chat=text)))]
        values = {"chat": neutralise_tags(text, tag_names(self._prompt.source))}
        blank = FormReply(age="", sex="", symptoms="", examination="", history="", complaint=text[:40], diagnosis="")
        made = yield from ask_json(
            self._prompt, values, FormReply, lambda reply: _form(text, reply), sampling=self.spec.sampling,
            expected=blank.model_dump_json(), rounds=self.spec.rounds,
        )  # fmt: skip
        if isinstance(made, ReplyFault):
            return [Dropped(made.reason, made.detail)]
        return [Kept(_FORM.child(row, produced_by=self.produced_by("model"), payload=made))]


def _form(text: str, reply: FormReply) -> IntakeForm | ReplyFault:
    form = IntakeForm(chat=text, **{name: value.strip() for name, value in reply.model_dump().items()})
    return form if form.is_filled() else ReplyFault("reply_empty")
