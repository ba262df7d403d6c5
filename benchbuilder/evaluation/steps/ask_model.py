"""What the stages share that have a model under evaluation answer."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, PromptRef, Sampling, Slot, StepSpec
from benchbuilder.core import Answer, AnswerOutcome, Item, Row, SpecIssue, Table, strip_reasoning
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.models import Message, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps import PromptedMap, model_identity, sampling_issues


class AskModelStepSpec(StepSpec):
    """Which model is asked, under which name its answers are kept, and how."""

    name: str
    model: Annotated[KindSpec | None, Slot("model")] = None
    prompt: PromptRef | None = None
    system: PromptRef | None = None
    sampling: Sampling = Sampling()


class AskModelStep(PromptedMap):
    """Puts a prompt to the model under evaluation; what it says is an answer, whatever it is.

    A refusal, an empty reply and one that was cut off are answers too, told apart by their outcome. What a model thinks
    aloud before its answer is no part of it; a reply that ends within its thoughts is cut off and empty. Prompts see
    what the payload of the item says may be shown (`Payload.asked`).
    """

    output: ClassVar[type[Row] | None] = Answer
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "question": "the question with its context",
        "type": "the type of the item (tf, oe), empty where items have none",
    }

    spec: AskModelStepSpec

    @property
    def model_spec(self) -> KindSpec | None:
        """The model under evaluation."""
        return self.spec.model

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:  # noqa: ARG002
        """Sampling settings that the model needs or does not know."""
        return [] if self.spec.model is None else sampling_issues(self.spec.model, self.spec.sampling)

    def fingerprint(self) -> Mapping[str, str]:
        """What the model itself is, where that is not in the spec."""
        return {} if self.spec.model is None else model_identity(self.spec.model)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts."""
        self._system, self._prompt = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (self.spec.system, self.spec.prompt)
        )

    def ask(self, row: Row, item: Item[Any], **more: str) -> Generator[Request, Reply, Answer]:
        """Ask about `item`; the prompt sees `more` besides. The answer is a child of `row`."""
        case = make_case(item, "")
        values = {**item.payload.prompt_fields(), **more}
        user = str(values["question"]) if self._prompt is None else render_prompt(self._prompt, values)
        messages = (Message("user", user),)
        if self._system is not None:
            messages = (Message("system", render_prompt(self._system, values)), *messages)
        reply = yield Request(
            messages, self.spec.sampling.explicit_settings(), expected=case.right + "".join(case.evidence[:2])
        )
        text = strip_reasoning(reply.text)
        outcome: AnswerOutcome = reply.outcome if text is not None else "truncated"
        if outcome == "complete" and not (text or "").strip():
            outcome = "empty"
        return Answer.child(
            row, produced_by=self.produced_by(), model=self.spec.name, text=(text or "").strip(), outcome=outcome
        )
