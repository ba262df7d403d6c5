"""Asking a model for a JSON object: what is sent, what its reply comes to, and when it is asked once more."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar

from benchbuilder.config.spec.base import KindSpec, PromptRef
from benchbuilder.config.spec.model import Sampling
from benchbuilder.core.context import Complaint, Context
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.row import Row
from benchbuilder.core.text.replies import spoken
from benchbuilder.models import prompts
from benchbuilder.models.base import Message, Reply, Request
from benchbuilder.models.prompts import Prompt
from benchbuilder.steps.base import Prompted
from benchbuilder.steps.writer import Fault, json_object, model_parts, unfit_settings
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
_OUTCOMES = {name: f"reply_{name}" for name in ("truncated", "empty", "refused", "filtered")}
_FINAL = ("reply_refused", "reply_filtered")


def read_prompt(ref: PromptRef | None) -> Prompt | None:
    """The prompt that a spec names."""
    return None if ref is None else prompts.read(ref.path, ref.file)


class AskingJson(Prompted):
    """A stage that may ask a model for a JSON object: its spec has `model`, `prompt` and `sampling`."""

    def __init__(self, spec: Any, context: Context) -> None:
        super().__init__(spec, context)
        self._prompt: Prompt | None = None

    @property
    def asks(self) -> KindSpec | None:
        """The model, if there is something to ask it."""
        model = self.spec.model
        return None if self.spec.prompt is None or model is None or model.kind == "none" else model

    def complaints(self, rows: Mapping[str, type[Row]]) -> list[Complaint]:  # noqa: ARG002
        """Sampling settings that the model's backend needs or does not know."""
        return [] if self.asks is None else unfit_settings(self.asks, self.spec.sampling)

    def fingerprint(self) -> Mapping[str, str]:
        """What the model itself is."""
        return {} if self.asks is None else model_parts(self.asks)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompt."""
        self._prompt = read_prompt(self.spec.prompt)


def ask_json(
    prompt: Prompt,
    values: Mapping[str, Any],
    wanted: type[M],
    take: Callable[[M], T | Fault],
    *,
    sampling: Sampling,
    expected: str,
    rounds: int,
) -> Generator[Request, Reply, T | Fault]:
    """What `take` makes of the model's object, or why there is none after `rounds` further replies.

    `expected` is a reply of the form that is wanted, for quotes. At temperature 0 it is asked once.
    """
    messages = (Message("user", prompts.render(prompt, values)),)
    schema = wanted.model_json_schema()
    fault = Fault("reply_empty")
    for sample in range(rounds + 1):
        reply = yield Request(messages, sampling.chosen(), schema, sample, expected)
        read = _read(reply, wanted)
        made = read if isinstance(read, Fault) else take(read)
        if not isinstance(made, Fault):
            return made
        fault = made
        if reply.assumed or fault.reason in _FINAL or sampling.temperature == 0:
            break
    return fault


def _read(reply: Reply, wanted: type[M]) -> M | Fault:
    if reply.outcome in _OUTCOMES:
        return Fault(_OUTCOMES[reply.outcome])
    text = spoken(reply.text)
    if text is None:
        return Fault("reply_unfinished")
    try:
        return wanted.model_validate_json(json_object(text))
    except ValidationError as error:
        return Fault("reply_malformed", f"{error.errors()[0]['msg']}: {text[:200]}")
