"""Steps that answer items: `answer` asks a model, `follow_up` asks again, `answer_by_rule` asks a baseline."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KeyedByStep, KindSpec, PromptRef, ReasoningSpec, Sampling, Slot, StepSpec
from benchbuilder.core import (
    Answer,
    AnswerOutcome,
    Item,
    Kept,
    Outcome,
    Row,
    SpecIssue,
    Table,
    create_from_spec,
    strip_reasoning,
)
from benchbuilder.evaluation.baselines.base import Baseline
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.steps.press import guard_of
from benchbuilder.evaluation.steps.reword import earlier_repeats
from benchbuilder.exporters import ANSWERED_BY
from benchbuilder.models import Conversation, Message, Reply, Request, read_prompt, render_prompt
from benchbuilder.steps import Map, ModelMap, Port


class AskModelStepSpec(StepSpec):
    """The model to ask, the `name` of its answers, and how it is asked."""

    name: str
    model: Annotated[KindSpec | None, Slot("model")] = None
    prompt: PromptRef | None = None
    system: PromptRef | None = None
    sampling: Sampling = Sampling()
    guards: Annotated[dict[str, str], KeyedByStep()] = {}
    """Words that follow the system message before items whose slot names the guard. They are part of the key."""


class AskModelStep(ModelMap):
    """Puts a prompt to the model under evaluation and keeps the reply as an answer, whatever it is.

    Refusals, empty replies and truncated replies are answers too, distinguished by their outcome. Reasoning before the
    answer is removed; a reply that ends within its reasoning is ``thought_out`` or ``truncated``, and empty. The former
    is asked again once, with twice the tokens for thinking, if `reasoning.retry` of the model says so. Prompts see only
    the fields that the item's payload releases (`Payload.prompt_fields`). `produced_by` of the answer names the model
    that the service says it used.
    """

    version: ClassVar[int] = 2
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

    def fingerprint(self) -> Mapping[str, str]:
        """The words of guards."""
        return {f"guard {name}": words for name, words in self.spec.guards.items()}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the prompts."""
        self._system, self._prompt = (
            None if ref is None else read_prompt(ref.path, ref.file) for ref in (self.spec.system, self.spec.prompt)
        )

    def ask(self, row: Row, item: Item[Any], **variables: str) -> Generator[Request, Reply, Answer]:
        """Ask about `item` and return the answer as a child of `row`; the prompt also sees `variables`."""
        reply = yield from self.replied(self.request(item, self.opening(item, **variables)))
        return self.answer_of(row, reply)

    def replied(self, request: Request) -> Generator[Request, Reply, Reply]:
        """The reply; asked once more with a longer limit if thinking used the tokens up, where the model says so."""
        reply = yield request
        if reply.outcome == "thought_out" and (limit := self._longer_limit(request.sampling)):
            reply = yield replace(request, sampling={**request.sampling, "max_new_tokens": limit})
        return reply

    def opening(self, item: Item[Any], **variables: str) -> tuple[Message, ...]:
        """The system message, if there is one, and the question."""
        user = Message("user", self.user_text(item, **variables))
        values = {**item.payload.prompt_fields(), **variables}
        words = [] if self._system is None else [render_prompt(self._system, values)]
        words += [guard] if (guard := self.spec.guards.get(guard_of(item.slot))) else []
        return (*([Message("system", "\n\n".join(words))] if words else []), user)

    def user_text(self, item: Item[Any], **variables: str) -> str:
        """What the prompt makes of the question."""
        values = {**item.payload.prompt_fields(), **variables}
        return str(values["question"]) if self._prompt is None else render_prompt(self._prompt, values)

    def request(self, item: Item[Any], messages: tuple[Message, ...]) -> Request:
        """A request about `item`."""
        case = make_case(item, "")
        return Request(
            messages,
            self.spec.sampling.explicit_settings(),
            sample=earlier_repeats(item),
            expected=case.right + "".join(case.evidence[:2]) or str(getattr(item.payload, "expected", "")),
        )

    def answer_of(self, row: Row, reply: Reply, slot: str = "") -> Answer:
        """What a model replied, as a child of `row`."""
        text = strip_reasoning(reply.text)
        outcome: AnswerOutcome = reply.outcome if text is not None else "truncated"
        if outcome == "complete" and not (text or "").strip():
            outcome = "empty"
        produced_by = self.produced_by(f"{ANSWERED_BY}{reply.model}" if reply.model else "")
        return Answer.child(
            row, produced_by=produced_by, slot=slot, model=self.spec.name, text=(text or "").strip(), outcome=outcome
        )

    def _longer_limit(self, settings: Mapping[str, Any]) -> int:
        """The limit of the answer with which the model gets twice its tokens for thinking; 0: it is not asked again."""
        reasoning: ReasoningSpec | None = getattr(self.spec.model, "reasoning", None)
        if reasoning is None or not reasoning.retry or "max_new_tokens" not in settings:
            return 0
        return int(settings["max_new_tokens"]) + reasoning.allowance  # the model adds the allowance once more


class AnswerItems(AskModelStep):
    """Puts each item to a model, zero-shot and in a single turn; one answer per item."""

    kind: ClassVar[str] = "answer"
    spec_class: ClassVar[type[StepSpec]] = AskModelStepSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}

    def converse(self, row: Item[Any], parents: Mapping[str, Any]) -> Conversation:  # noqa: ARG002
        """One question, one answer."""
        answer = yield from self.ask(row, row)
        return [Kept(answer)]


class FollowUp(AskModelStep):
    """Puts an item to a model again, with an earlier answer, which the prompt sees as `earlier`; one answer each.

    If the earlier answer has no text (the model refused, or its reply was empty), nothing is asked and the earlier
    outcome is kept.
    """

    kind: ClassVar[str] = "follow_up"
    spec_class: ClassVar[type[StepSpec]] = AskModelStepSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="parent")}
    prompt_variables: ClassVar[Mapping[str, str]] = {**AskModelStep.prompt_variables, "earlier": "the earlier answer"}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """Problems with the sampling settings, and a missing prompt."""
        issues = super().validate_inputs(rows)
        if self.spec.prompt is None:
            issues.append(SpecIssue("prompt", "a follow-up needs a prompt that uses `earlier`", "null", ()))
        return issues

    def converse(self, row: Answer, parents: Mapping[str, Any]) -> Conversation:
        """One more question, one more answer."""
        if not row.text:
            outcome = row.outcome if row.outcome not in ("complete", "truncated") else "empty"
            unasked = Answer.child(
                row, produced_by=self.produced_by("unasked"), model=self.spec.name, text="", outcome=outcome
            )
            return [Kept(unasked)]
        item: Item[Any] = parents["item"]
        answer = yield from self.ask(row, item, earlier=row.text)
        return [Kept(answer)]


class AnswerByRuleSpec(StepSpec):
    """The baseline, and the name of its answers."""

    name: str
    baseline: Annotated[KindSpec, Slot("baseline")]


class AnswerByRule(Map):
    """Lets a baseline answer each item; one answer per item."""

    kind: ClassVar[str] = "answer_by_rule"
    spec_class: ClassVar[type[StepSpec]] = AnswerByRuleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Item)}
    output: ClassVar[type[Row] | None] = Answer

    spec: AnswerByRuleSpec

    @property
    def _baseline(self) -> Baseline:
        return create_from_spec("baseline", self.spec.baseline)

    def fingerprint(self) -> Mapping[str, str]:
        """Everything besides its spec that affects the baseline's answers."""
        return self._baseline.fingerprint()

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of people's answers so far, for a baseline of human answers."""
        return self._baseline.external_inputs(self.context.workplace)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the baseline."""
        self._open = self._baseline
        self._open.open(self.context.workplace)

    def map(self, row: Item[Any], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One answer."""
        text, outcome = self._open.answer(row)
        produced_by = self.produced_by(self.spec.baseline.kind)
        return [Kept(Answer.child(row, produced_by=produced_by, model=self.spec.name, text=text, outcome=outcome))]
