"""A small stage that puts prompts, and a model in this process that answers them as it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from engine_kinds import EACH

from benchbuilder.config.spec.base import KindSpec, RuntimeOption, Slot, StepSpec
from benchbuilder.config.spec.model import ModelSpec
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Passage
from benchbuilder.models.base import (
    LocalModel,
    Message,
    RefusedRequestError,
    Reply,
    Request,
    Usage,
)
from benchbuilder.models.conversation import Conversation
from benchbuilder.steps.base import PromptedMap


class AskSpec(StepSpec):
    ask: str = "Louder: "
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None


class Ask(PromptedMap):
    """Has every line made louder by its model, twice where the first reply has no mark; short lines need none."""

    kind = "t_ask"
    spec_class = AskSpec
    ports = EACH
    output = Passage
    reasons: ClassVar[Mapping[str, str]] = {"short": "Too short to ask about.", "no_mark": "Not loud."}

    @property
    def model_spec(self) -> KindSpec | None:
        return self.spec.model

    def converse(self, row: Passage, parents: Mapping[str, Any]) -> Conversation:
        if len(row.text) < 3:
            return [Dropped("short", row.text)]
        reply = Reply("", "empty")
        for sample in range(2):
            messages = (Message("user", self.spec.ask + row.text),)
            reply = yield Request(messages, {"temperature": 0}, sample=sample, expected=row.text.upper() + "!")
            if reply.text.endswith("!"):
                made = self.produced_by("model/t")
                return [
                    Kept(Passage.child(row, produced_by=made, base=row.base, document=row.document, text=reply.text))
                ]
        return [Dropped("no_mark", reply.text)]


class LoudSpec(ModelSpec):
    name: str = "loud"
    log: Annotated[str, RuntimeOption()]
    """A file that each request is written to as it is asked."""
    broken: Annotated[tuple[str, ...], RuntimeOption()] = ()
    """Words that the model has no answer for."""


class Loud(LocalModel):
    """Capitals and a mark; what holds ``mute`` gets no mark, what holds ``later`` gets it at the second asking."""

    kind = "t_loud"
    spec_class = LoudSpec
    settings = frozenset({"temperature"})
    batch_size = 4

    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "name": self.spec.name}

    def generate(self, requests: Sequence[Request]) -> list[str]:
        refused = any(self._broken(request) for request in requests)
        if len(requests) > 1 and refused:
            raise RefusedRequestError("somebody of these gets no answer")
        with Path(self.spec.log).open("a", encoding="utf-8") as log:
            log.writelines(request.messages[-1].content + "\n" for request in requests)
        if refused:
            raise RefusedRequestError("the model has no answer")
        return [self._answer(request) for request in requests]

    def _broken(self, request: Request) -> bool:
        return any(word in request.messages[-1].content for word in self.spec.broken)

    def _answer(self, request: Request) -> str:
        text = request.messages[-1].content
        mark = "" if "mute" in text or ("later" in text and not request.sample) else "!"
        return text.partition(": ")[2].upper() + mark

    def read(self, body: str) -> Reply:
        return Reply(body, "complete", Usage(len(body), len(body)))


def asked(log: Path) -> Counter[str]:
    """What the model was asked, and how often."""
    return Counter(log.read_text(encoding="utf-8").splitlines()) if log.exists() else Counter()
