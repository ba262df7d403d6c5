"""Has a second model say whether a paragraph supports the claim that was read from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    LabelledClaim,
    Outcome,
    Passage,
    Regex,
    Row,
    Table,
    matches_whole,
    truncate_text,
)
from benchbuilder.models import Conversation, Message, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.claim_replies import plain_reply
from benchbuilder.steps.model_settings import ModelMap

_LONGEST_DETAIL = 120


class ConfirmClaimsSpec(StepSpec):
    """How the second model is asked. Without a model, every claim passes."""

    prompt: PromptRef
    """The prompt with paragraph and claim."""
    system: PromptRef | None = None
    """The system message, with the same variables; ``null``: none."""
    confirms: Annotated[tuple[Regex, ...], Field(min_length=1)]
    """Patterns of first lines that say yes; any other reply counts as no."""
    expected: Annotated[str, Field(min_length=1)]
    """A reply that says yes; a quote assumes it."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model")] = None
    """The second model; it does not inherit the recipe's."""


class ConfirmClaims(ModelMap):
    """Keeps the claims that follow from their paragraph in the judgement of a second model."""

    kind: ClassVar[str] = "confirm_claims"
    spec_class: ClassVar[type[StepSpec]] = ConfirmClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[LabelledClaim]), "passage": Port(Passage, mode="parent")}
    output: ClassVar[type[Row] | None] = Fact[LabelledClaim]
    reasons: ClassVar[Mapping[str, str]] = {
        "not_entailed": "The second model does not say that the paragraph supports the claim."
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "title": "the title of the document, with the headings above the paragraph",
        "text": "the paragraph",
        "claim": "the claim",
    }

    spec: ConfirmClaimsSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts."""
        spec = self.spec
        self._prompt = read_prompt(spec.prompt.path, spec.prompt.file)
        self._system = None if spec.system is None else read_prompt(spec.system.path, spec.system.file)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """One branch per claim, which stays as it is."""
        if self.model_spec is None:
            return [Kept(row)]
        passage: Passage = parents["passage"]
        values = {"title": passage.title, "text": passage.text, "claim": row.payload.text}
        messages = (Message("user", render_prompt(self._prompt, values)),)
        if self._system is not None:
            messages = (Message("system", render_prompt(self._system, values)), *messages)
        reply = yield Request(messages, self.spec.sampling.explicit_settings(), None, 0, self.spec.expected)
        return [self._outcome(row, reply)]

    def _outcome(self, row: Any, reply: Reply) -> Outcome:
        said = next((line.strip() for line in plain_reply(reply).splitlines() if line.strip()), "")
        if any(matches_whole(pattern, said) for pattern in self.spec.confirms):
            return Kept(row)
        detail = truncate_text(said, _LONGEST_DETAIL) or reply.outcome
        return Dropped("not_entailed", f"{detail} | {row.payload.text}")
