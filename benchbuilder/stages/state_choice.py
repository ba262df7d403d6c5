"""Joins a multiple-choice question and its answer into one true sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Row, Span
from benchbuilder.records.fact import Choice, Fact
from benchbuilder.records.fates import Dropped, Fate, Kept
from benchbuilder.records.statement import Statement
from benchbuilder.spec.base import KindSpec, PromptRef, Slot, StepSpec
from benchbuilder.text.edits import ending
from benchbuilder.text.patterns import Regex, find_all
from benchbuilder.text.punctuation import strip_marks, strip_marks_right


class StateChoiceSpec(StepSpec):
    """How questions become statements."""

    seams: tuple[str, ...]
    """What a question may end in so that the answer can simply follow; the longest that fits counts."""
    not_questions: tuple[Regex, ...]
    """Questions that no rule may join, whatever they end in."""
    not_answers: tuple[Regex, ...]
    """Answers that do not fit behind a seam."""
    stop: str
    """What every statement ends in."""
    marks: str
    """Marks that are taken off the end of the question and off both ends of the answer."""
    max_length: Annotated[int, Field(ge=1)]
    """Characters that a statement may have, its stop included."""
    prompt: PromptRef | None = None
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None


class StateChoice(Map):
    """A true statement of question, answer and stop, where the question ends in a seam.

    The statement carries the span of its answer and of the seam. A question that no rule can join is dropped with
    ``needs_model``.
    """

    kind = "state_choice"
    spec_class = StateChoiceSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "needs_model": "No rule can do it and the model is `none`.",
        "too_long": "The statement is longer than the recipe allows.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "context": "what stands before the question (may be empty)",
        "question": "the question, without its blank",
        "answer": "the right answer",
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """One ticket a fact."""
        fact: Fact[Choice] = row
        spec: StateChoiceSpec = self.spec
        question = strip_marks_right(fact.payload.question, spec.marks)
        answer = strip_marks(fact.payload.answer, spec.marks)
        seam = ending(question, spec.seams)
        if not seam or not answer:
            return [Dropped("needs_model", f"no seam: {question}")]
        for patterns, text in ((spec.not_questions, question), (spec.not_answers, answer)):
            if pattern := next((p for p in patterns if find_all(p, text)), None):
                return [Dropped("needs_model", f"{pattern}: {text}")]
        joined = question + answer + spec.stop
        if len(joined) > spec.max_length:
            return [Dropped("too_long", f"{len(joined)} characters")]
        at = len(question)
        statement = Statement.child(
            fact,
            made_by=self.made_by("seam"),
            polarity="true",
            text=joined,
            joined="seam",
            answer=Span(start=at, end=at + len(answer)),
            seam=Span(start=at - len(seam), end=at),
            context=fact.payload.context,
            fact=fact.id,
            checks=("holds_answer", "within_length"),
        )
        return [Kept(statement)]
