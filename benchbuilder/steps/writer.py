"""Writers: steps that write one text per row, by rule, by a model, or by a model if no rule applies."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, ValidationError, create_model, model_validator

from benchbuilder.config import KindSpec, PairsRef, PromptRef, Sampling, Slot, StepSpec
from benchbuilder.core import (
    Dropped,
    Kept,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    SpecIssue,
    Table,
    strip_reasoning,
    strip_reply_framing,
)
from benchbuilder.models import (
    Conversation,
    Message,
    Prompt,
    Reply,
    Request,
    read_few_shot_pairs,
    read_prompt,
    render_prompt,
)
from benchbuilder.steps.language.odd_texts import has_markup, odd_characters
from benchbuilder.steps.model_settings import ModelMap

MODEL_REASONS: Mapping[str, str] = {
    "needs_model": "No rule applies, and no model is set or the step uses only rules.",
    "reply_truncated": "The model's reply reached the limit of new tokens.",
    "reply_empty": "The model's reply is empty.",
    "reply_refused": "The model refused to answer.",
    "reply_filtered": "The service's content filter withheld prompt or reply.",
    "reply_malformed": "The model's reply is not valid JSON for the schema.",
    "reply_unfinished": "The model's reply ends in the middle of its reasoning.",
    "reply_markup": "The model's reply contains markup: tags, bold print or code.",
    "reply_odd_characters": "The model's reply contains control characters or invisible ones.",
}
"""The drop reasons of every writer, besides its own checks."""
REPAIR_VARIABLES: Mapping[str, str] = {
    "fault": "the drop reason of the last reply",
    "detail": "the detail of that reason (may be empty)",
    "reply": "the last reply",
}
"""The variables of a repair prompt, besides those of the prompt."""
_FINAL_REASONS = ("reply_refused", "reply_filtered")
_REASON_OF_REPLY_OUTCOME = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")} | {
    "thought_out": "reply_truncated"
}


class WriterSpec(StepSpec):
    """How a text is written."""

    strategy: Literal["rules", "model", "rules_then_model"]
    """Who writes: rules, the model, or the model if no rule applies. Without a model, only rules."""
    prompt: PromptRef | None = None
    """The prompt of the model."""
    system: PromptRef | None = None
    """The system message, with the same variables; ``null``: none."""
    pairs: PairsRef | None = None
    """Few-shot pairs; the prompt has them as `pairs`."""
    repair: PromptRef | None = None
    """The prompt after a reply that fails a check; ``null`` repeats the same prompt."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 0
    """Further replies that are requested before the row is dropped."""
    reply: Literal["text", "json"] = "text"
    """Whether the model answers with the plain text or with a JSON object."""
    labels: tuple[str, ...] = ()
    """Labels of the prompt that a model may repeat before its text; they are removed."""
    openers: tuple[Regex, ...] = ()
    """Patterns of openings before a model's text; they are removed at its start."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None

    @model_validator(mode="after")
    def _has_prompt(self) -> Self:
        if self.strategy != "rules" and self.prompt is None:
            raise ValueError(f"prompt: the strategy {self.strategy} needs one")
        return self


@dataclass(frozen=True, slots=True)
class NeedsModel:
    """No rule applies; `detail` gives the cause, and `reason` is the drop reason without a model."""

    detail: str = ""
    reason: str = "needs_model"


@dataclass(frozen=True, slots=True)
class ReplyFault:
    """The failed check of a reply: a drop reason of the step, and a detail."""

    reason: str
    detail: str = ""


class Writer(ModelMap):
    """Makes one row from each row, by rule or by a model.

    A kind defines the rules, the values of a prompt, and the checks of a reply. The rest (strategy, messages, repair
    rounds, outcomes of replies) is the same for all. `reasons` must contain `MODEL_REASONS`.
    """

    prompt_variables: ClassVar[Mapping[str, str]]
    """The variables of its prompts, with a description of each."""
    reply_field: ClassVar[str] = "text"
    """The field of a JSON reply."""

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """The outcome of a row that no strategy writes about; ``None`` for all others."""
        return None

    @abstractmethod
    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:
        """The outcome of the rules for a row."""

    @abstractmethod
    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:
        """The values of `prompt_variables`, as plain data."""

    @abstractmethod
    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:
        """A text in the form of a good reply: a quote counts its tokens and continues with it."""

    @abstractmethod
    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:
        """The row made from a reply's text, or the check that it fails."""

    @property
    def model_spec(self) -> KindSpec | None:
        """The step's model; ``None`` if only rules write or the model answers nothing."""
        spec: WriterSpec = self.spec
        return None if spec.strategy == "rules" else super().model_spec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """A missing model, and the issues of the sampling settings."""
        spec: WriterSpec = self.spec
        if spec.strategy == "model" and self.model_spec is None:
            message = "the strategy `model` needs a model"
            return [SpecIssue("strategy", message, spec.strategy, ("model=openai", "rules_then_model"))]
        return super().validate_inputs(rows)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts."""
        spec: WriterSpec = self.spec
        self._prompt, self._system, self._repair = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.prompt, spec.system, spec.repair)
        )
        self._pairs = [] if spec.pairs is None else read_few_shot_pairs(spec.pairs.file)
        self._schema: type[BaseModel] = create_model("Reply", **{self.reply_field: (str, ...)})  # type: ignore[call-overload]

    def without_model(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:
        """What becomes of a row before any model is asked."""
        outcome = self.exclusion(row, parents)
        if outcome is not None:
            return outcome
        return NeedsModel() if self.spec.strategy == "model" else self.by_rule(row, parents)

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """One branch per row."""
        outcome = self.without_model(row, parents)
        if not isinstance(outcome, NeedsModel):
            return [outcome]
        if self.model_spec is None:
            return [Dropped(outcome.reason, outcome.detail)]
        return [(yield from self.ask(row, parents))]

    def ask(self, row: Any, parents: Mapping[str, Any]) -> Generator[Request, Reply, Outcome]:
        """Ask the model, and again if a check fails, as often as the spec allows.

        At temperature 0, the same messages are not sent again.
        """
        spec: WriterSpec = self.spec
        values = self.prompt_values(row, parents)
        first = self.messages(values)
        messages, fault, answer = first, ReplyFault("needs_model"), ""
        schema = self.reply_schema(row)
        produced_by = self.produced_by(f"model/{spec.prompt.path}" if spec.prompt is not None else "model")
        sent: set[tuple[Message, ...]] = set()
        for sample in range(spec.repair_rounds + 1):
            sent.add(messages)
            expected = self.expected_reply(row, parents)
            if spec.reply == "json":
                expected = json.dumps({self.reply_field: expected}, ensure_ascii=False)
            reply = yield Request(messages, spec.sampling.explicit_settings(), schema, sample, expected)
            result: str | Row | ReplyFault = self.reply_text(reply)
            answer = strip_reasoning(reply.text) or ""
            if isinstance(result, str):
                result = self.judge(row, parents, result, produced_by)
            if isinstance(result, Row):
                return Kept(result)
            fault = result
            if reply.assumed or fault.reason in _FINAL_REASONS:
                break
            messages = self._repair_messages(first, answer, fault, values)
            if messages in sent and answer and spec.sampling.temperature == 0:
                break  # the most probable reply to the same messages is already known
        return Dropped(fault.reason, " | ".join(filter(None, (fault.detail, answer))))

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of the first request."""
        if self._prompt is None:
            raise TypeError(f"step {self.context.step!r} has no prompt")
        user = Message("user", self._render_prompt(self._prompt, values))
        return (user,) if self._system is None else (Message("system", self._render_prompt(self._system, values)), user)

    def _render_prompt(self, prompt: Prompt, values: Mapping[str, Any]) -> str:
        return render_prompt(prompt, {**values, "pairs": self._pairs})

    def _repair_messages(
        self, first: tuple[Message, ...], reply_text: str, fault: ReplyFault, values: Mapping[str, Any]
    ) -> tuple[Message, ...]:
        """The messages of a repair round: the first ones, the last reply, and its fault."""
        if self._repair is None or not reply_text:
            return first
        values = {**values, "fault": fault.reason, "detail": fault.detail, "reply": reply_text}
        return (*first, Message("assistant", reply_text), Message("user", self._render_prompt(self._repair, values)))

    def reply_schema(self, row: Any) -> dict[str, Any] | None:  # noqa: ARG002
        """The JSON schema of a reply about `row`; ``None`` if it is plain text."""
        spec: WriterSpec = self.spec
        return self._schema.model_json_schema() if spec.reply == "json" else None

    def reply_text(self, reply: Reply) -> str | ReplyFault:
        """The text of a reply, or why it has none."""
        text = said_text(reply)
        if isinstance(text, ReplyFault):
            return text
        spec: WriterSpec = self.spec
        if spec.reply == "json":
            try:
                text = str(getattr(self._schema.model_validate_json(first_json_object(text)), self.reply_field))
            except ValidationError as error:
                return ReplyFault("reply_malformed", str(error.errors()[0]["msg"]))
        text = strip_reply_framing(text, spec.labels, spec.openers)
        if odd := odd_characters(text):
            return ReplyFault("reply_odd_characters", odd)
        if has_markup(text):
            return ReplyFault("reply_markup")
        return text or ReplyFault("reply_empty")


def said_text(reply: Reply) -> str | ReplyFault:
    """What a reply says after its reasoning, or why it says nothing."""
    if reply.outcome in _REASON_OF_REPLY_OUTCOME:
        return ReplyFault(_REASON_OF_REPLY_OUTCOME[reply.outcome])
    text = strip_reasoning(reply.text)
    return ReplyFault("reply_unfinished") if text is None else text


def first_json_object(text: str) -> str:
    """The first JSON object in `text`, which may be in a fence or between sentences; `text` if there is none.

    >>> first_json_object('Here: {"a": "b"} as asked')
    '{"a": "b"}'
    """
    start = text.find("{")
    while start >= 0:
        try:
            _, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        return text[start:end]
    return text
