"""A scorer that asks a model whether an answer is right, as a plugin may bring one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from benchbuilder.config.spec.base import KindSpec, PromptRef, Slot
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.roles import Answer
from benchbuilder.evaluation.scorers.base import Mark, Scored, Scorer, Scoring
from benchbuilder.models import prompts
from benchbuilder.models.base import Message, Request


class AskerSpec(KindSpec):
    prompt: PromptRef
    model: Annotated[KindSpec | None, Slot("model")] = None


class Asker(Scorer):
    """1 if the model says yes, 0 if not; without a model 0.5."""

    kind = "asker"
    spec_class = AskerSpec
    prompt_variables = {"said": "the answer", "wanted": "the right answer"}

    @property
    def asks(self) -> KindSpec | None:
        model: KindSpec | None = self.spec.model
        return None if model is None or model.kind == "none" else model

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[Scored]:
        return [(Mark("agreement", 0.5),) for _ in pairs]

    def converse(self, answer: Answer, item: Item[Any]) -> Scoring:
        found = prompts.read(self.spec.prompt.path, self.spec.prompt.file)
        given = {"said": answer.text, "wanted": item.payload.answer}
        asked = Request((Message("user", prompts.render(found, given)),), {"max_new_tokens": 1}, None, 0, "yes")
        reply = yield asked
        return (Mark("agreement", float(reply.text == "yes")),)
