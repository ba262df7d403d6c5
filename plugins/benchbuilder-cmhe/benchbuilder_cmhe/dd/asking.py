"""Asking a model for a JSON object: what is sent, what its reply comes to, and when it is asked once more."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from benchbuilder.config import KindSpec, PromptRef, Sampling
from benchbuilder.core import Row, SpecIssue, StepContext, Table, strip_reasoning
from benchbuilder.models import Message, Prompt, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps import PromptedMap, ReplyFault, first_json_object, model_identity, sampling_issues
from pydantic import BaseModel, ValidationError

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

ASKING_REASONS: Mapping[str, str] = {
    "needs_model": "Only a model can do it, and none is set.",
    "reply_truncated": "The model's reply reached the limit of new tokens.",
    "reply_empty": "The model's reply is empty.",
    "reply_refused": "The model refused to answer.",
    "reply_filtered": "The service's content filter withheld prompt or reply.",
    "reply_malformed": "The model's reply is not the JSON that was asked for.",
    "reply_unfinished": "The model's reply ends in the middle of its reasoning.",
}
"""Why there is nothing of a model."""
_REASON_OF_REPLY_OUTCOME = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")} | {
    "thought_out": "reply_truncated"
}
_FINAL_REASONS = ("reply_refused", "reply_filtered")


def read_prompt_ref(ref: PromptRef | None) -> Prompt | None:
    """The prompt that a spec names."""
    return None if ref is None else read_prompt(ref.path, ref.file)


class PromptedForJson(PromptedMap):
    """A step that may ask a model for a JSON object: its spec has `model`, `prompt` and `sampling`."""

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self._prompt: Prompt | None = None

    @property
    def model_spec(self) -> KindSpec | None:
        """The model, if there is something to ask it."""
        model = self.spec.model
        return None if self.spec.prompt is None or model is None or model.kind == "none" else model

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:  # noqa: ARG002
        """Sampling settings that the model's backend needs or does not know."""
        return [] if self.model_spec is None else sampling_issues(self.model_spec, self.spec.sampling)

    def fingerprint(self) -> Mapping[str, str]:
        """What the model itself is."""
        return {} if self.model_spec is None else model_identity(self.model_spec)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompt."""
        self._prompt = read_prompt_ref(self.spec.prompt)


def ask_json(
    prompt: Prompt,
    values: Mapping[str, Any],
    reply_class: type[M],
    accept: Callable[[M], T | ReplyFault],
    *,
    sampling: Sampling,
    expected: str,
    rounds: int,
) -> Generator[Request, Reply, T | ReplyFault]:
    """What `accept` makes of the model's object, or why there is none after `rounds` further replies.

    `expected` is a reply of the form that is wanted, for quotes. At temperature 0 it is asked once.
    """
    messages = (Message("user", render_prompt(prompt, values)),)
    schema = reply_class.model_json_schema()
    fault = ReplyFault("reply_empty")
    for sample in range(rounds + 1):
        reply = yield Request(messages, sampling.explicit_settings(), schema, sample, expected)
        read = _parse_reply(reply, reply_class)
        made = read if isinstance(read, ReplyFault) else accept(read)
        if not isinstance(made, ReplyFault):
            return made
        fault = made
        if reply.assumed or fault.reason in _FINAL_REASONS or sampling.temperature == 0:
            break
    return fault


def _parse_reply(reply: Reply, reply_class: type[M]) -> M | ReplyFault:
    if reply.outcome in _REASON_OF_REPLY_OUTCOME:
        return ReplyFault(_REASON_OF_REPLY_OUTCOME[reply.outcome])
    text = strip_reasoning(reply.text)
    if text is None:
        return ReplyFault("reply_unfinished")
    try:
        return reply_class.model_validate_json(first_json_object(text))
    except ValidationError as error:
        return ReplyFault("reply_malformed", f"{error.errors()[0]['msg']}: {text[:200]}")
