"""Writers: stages that make one text of a row, by rule, by a model, or by a model where no rule can."""

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
    create_from_spec,
    has_markup,
    odd_characters,
    strip_reasoning,
    strip_reply_framing,
)
from benchbuilder.models import (
    Conversation,
    Message,
    Model,
    Prompt,
    Reply,
    Request,
    read_few_shot_pairs,
    read_prompt,
    render_prompt,
)
from benchbuilder.steps.base import PromptedMap

MODEL_REASONS: Mapping[str, str] = {
    "needs_model": "No rule can do it, and no model is set or the step works by rules alone.",
    "reply_truncated": "The model's reply reached the limit of new tokens.",
    "reply_empty": "The model's reply is empty.",
    "reply_refused": "The model refused to answer.",
    "reply_filtered": "The service's content filter withheld prompt or reply.",
    "reply_malformed": "The model's reply is not the JSON that was asked for.",
    "reply_unfinished": "The model's reply ends in the middle of its reasoning.",
    "reply_markup": "The model's reply holds markup: tags, bold print or code.",
    "reply_odd_characters": "The model's reply holds control characters or invisible ones.",
}
"""Why a writer drops a row on account of the model, besides its own checks."""
REPAIR_VARIABLES: Mapping[str, str] = {
    "fault": "the drop reason that the last reply would have",
    "detail": "what was seen (may be empty)",
    "reply": "the last reply",
}
"""What a repair prompt is given besides the variables of the prompt."""
_FINAL_REASONS = ("reply_refused", "reply_filtered")
_REASON_OF_REPLY_OUTCOME = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")}


class WriterSpec(StepSpec):
    """How a text is written."""

    strategy: Literal["rules", "model", "rules_then_model"]
    """Who writes: rules, the model, or the model where no rule can. Without a model, rules alone."""
    prompt: PromptRef | None = None
    """What the model is asked."""
    system: PromptRef | None = None
    """The system message, with the same variables; none if ``null``."""
    pairs: PairsRef | None = None
    """Few-shot pairs, which the prompt sees as `pairs`."""
    repair: PromptRef | None = None
    """What the model is told after a reply that fails a check; ``null`` asks the same once more."""
    repair_rounds: Annotated[int, Field(ge=0, le=5)] = 0
    """Further replies that are asked for before the row is dropped."""
    reply: Literal["text", "json"] = "text"
    """Whether the model answers with the bare text or with a JSON object."""
    labels: tuple[str, ...] = ()
    """What a model may repeat of the prompt before its text, and is taken off."""
    openers: tuple[Regex, ...] = ()
    """What a model may say before its text, and is taken off where it stands at the start."""
    sampling: Sampling = Sampling()
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None

    @model_validator(mode="after")
    def _has_prompt(self) -> Self:
        if self.strategy != "rules" and self.prompt is None:
            raise ValueError(f"prompt: the strategy {self.strategy} needs one")
        return self


@dataclass(frozen=True, slots=True)
class NeedsModel:
    """No rule can do it; `detail` says why."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReplyFault:
    """Why a reply cannot be taken: a drop reason of the stage, and what was seen."""

    reason: str
    detail: str = ""


def sampling_issues(model_spec: KindSpec, sampling: Sampling) -> list[SpecIssue]:
    """Sampling settings that a model needs, and those that its backend does not know unless it may omit them."""
    model: Model = create_from_spec("model", model_spec)
    chosen = sampling.explicit_settings()
    message = "this model cannot do without this setting"
    found = [SpecIssue(f"sampling.{name}", message, "", ()) for name in sorted(model.required - set(chosen))]
    if getattr(model_spec, "unsupported", "omit") == "omit":
        return found
    message = "the model's backend does not know this setting: leave it out, or set its `unsupported: omit`"
    unknown = [name for name in chosen if name not in model.known_settings()]
    return found + [
        SpecIssue(f"sampling.{name}", message, name, tuple(sorted(model.known_settings()))) for name in unknown
    ]


def model_identity(model_spec: KindSpec) -> dict[str, str]:
    """What a model itself is, for keys, where that is not in its spec: the address that it is reached at, its files."""
    model: Model = create_from_spec("model", model_spec)
    return {f"model {name}": json.dumps(part, sort_keys=True) for name, part in model.identity().items()}


class Writer(PromptedMap):
    """Makes one row of each row, by rule or by a model.

    A kind says what is written by rule, what a prompt is filled with, and how a reply is judged; the rest (strategy,
    messages, repair rounds, outcomes of replies) is here and the same for all. `reasons` must hold `MODEL_REASONS`.
    """

    prompt_variables: ClassVar[Mapping[str, str]]
    """What its prompts are given, with a sentence for each."""
    reply_field: ClassVar[str] = "text"
    """The field of a JSON reply."""

    @abstractmethod
    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:
        """The outcome of a row that is not to be written about at all, by whatever strategy."""

    @abstractmethod
    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:
        """What the rules make of a row."""

    @abstractmethod
    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:
        """What the prompt is filled with: plain data under the names of `prompt_variables`."""

    @abstractmethod
    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:
        """A text of the form of a good reply: a quote counts its tokens and goes on with it."""

    @abstractmethod
    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:
        """The row that a reply's text makes, or the check that it fails."""

    @property
    def model_spec(self) -> KindSpec | None:
        """The step's model, unless rules alone write or the model answers nothing."""
        spec: WriterSpec = self.spec
        if spec.strategy == "rules" or spec.model is None or spec.model.kind == "none":
            return None
        return spec.model

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:  # noqa: ARG002
        """Sampling settings that the model needs, and those that its backend does not know unless it may omit them."""
        spec: WriterSpec = self.spec
        if spec.strategy == "model" and self.model_spec is None:
            message = "the strategy `model` needs a model"
            return [SpecIssue("strategy", message, spec.strategy, ("model=openai", "rules_then_model"))]
        return [] if self.model_spec is None else sampling_issues(self.model_spec, spec.sampling)

    def fingerprint(self) -> Mapping[str, str]:
        """What the model itself is, where that is not in the spec: the address that it is reached at, its files."""
        return {} if self.model_spec is None else model_identity(self.model_spec)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts."""
        spec: WriterSpec = self.spec
        self._prompt, self._system, self._repair = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (spec.prompt, spec.system, spec.repair)
        )
        self._pairs = [] if spec.pairs is None else read_few_shot_pairs(spec.pairs.file)
        self._schema: type[BaseModel] = create_model("Reply", **{self.reply_field: (str, ...)})  # type: ignore[call-overload]

    def converse(self, row: Any, parents: Mapping[str, Any]) -> Conversation:
        """One branch a row."""
        spec: WriterSpec = self.spec
        outcome = self.exclusion(row, parents)
        detail = ""
        if outcome is None and spec.strategy != "model":
            made = self.by_rule(row, parents)
            if isinstance(made, NeedsModel):
                detail = made.detail
            else:
                outcome = made
        if outcome is None:
            outcome = (
                (yield from self.ask(row, parents)) if self.model_spec is not None else Dropped("needs_model", detail)
            )
        return [outcome]

    def ask(self, row: Any, parents: Mapping[str, Any]) -> Generator[Request, Reply, Outcome]:
        """Ask the model, and again where a check fails, as often as the spec allows.

        At temperature 0, what was asked in just these words is not asked again.
        """
        spec: WriterSpec = self.spec
        values = self.prompt_values(row, parents)
        first = self.messages(values)
        messages, fault, said = first, ReplyFault("needs_model"), ""
        schema = self._schema.model_json_schema() if spec.reply == "json" else None
        produced_by = self.produced_by(f"model/{spec.prompt.path}" if spec.prompt is not None else "model")
        asked: set[tuple[Message, ...]] = set()
        for sample in range(spec.repair_rounds + 1):
            asked.add(messages)
            expected = self.expected_reply(row, parents)
            if schema is not None:
                expected = json.dumps({self.reply_field: expected}, ensure_ascii=False)
            reply = yield Request(messages, spec.sampling.explicit_settings(), schema, sample, expected)
            made = self._reply_text(reply)
            said = strip_reasoning(reply.text) or ""
            if isinstance(made, str):
                made = self.judge(row, parents, made, produced_by)
            if isinstance(made, Row):
                return Kept(made)
            fault = made
            if reply.assumed or fault.reason in _FINAL_REASONS:
                break
            messages = self._repair_messages(first, said, fault, values)
            if messages in asked and said and spec.sampling.temperature == 0:
                break  # the likeliest reply to the same messages is known already
        return Dropped(fault.reason, " | ".join(part for part in (fault.detail, said) if part))

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages of a first request."""
        if self._prompt is None:
            raise TypeError(f"step {self.context.step!r} has no prompt")
        user = Message("user", self._render_prompt(self._prompt, values))
        return (user,) if self._system is None else (Message("system", self._render_prompt(self._system, values)), user)

    def _render_prompt(self, prompt: Prompt, values: Mapping[str, Any]) -> str:
        return render_prompt(prompt, {**values, "pairs": self._pairs})

    def _repair_messages(
        self, first: tuple[Message, ...], reply_text: str, fault: ReplyFault, values: Mapping[str, Any]
    ) -> tuple[Message, ...]:
        """The messages of a repair round: the first ones, what was said last, and what was wrong with it."""
        if self._repair is None or not reply_text:
            return first
        told = self._render_prompt(
            self._repair, {**values, "fault": fault.reason, "detail": fault.detail, "reply": reply_text}
        )
        return (*first, Message("assistant", reply_text), Message("user", told))

    def _reply_text(self, reply: Reply) -> str | ReplyFault:
        """The text of a reply, or why it holds none."""
        if reply.outcome in _REASON_OF_REPLY_OUTCOME:
            return ReplyFault(_REASON_OF_REPLY_OUTCOME[reply.outcome])
        spec: WriterSpec = self.spec
        text = strip_reasoning(reply.text)
        if text is None:
            return ReplyFault("reply_unfinished")
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


def first_json_object(text: str) -> str:
    """The first JSON object in `text`, which may stand in a fence or between sentences; `text` if there is none.

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
