"""Makes yes/no questions and open questions about the order of the steps of a procedure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Fact,
    Kept,
    LabelledClaim,
    NotApplicable,
    Outcome,
    Procedure,
    QuestionAnswer,
    Row,
    fill_template,
    template_faults,
)
from benchbuilder.steps.base import Map, Port


class _OrderSpec(StepSpec):
    most: Annotated[int, Field(ge=1)] = 3
    """The most questions about one procedure; its steps are drawn by seed."""


def _checked(sentence: str, needed: Sequence[str], may: Sequence[str] = ("title",)) -> str:
    present = [name for name in may if f"{{{name}}}" in sentence]
    if any(f"{{{name}}}" not in sentence for name in needed) or template_faults(sentence, (*needed, *present)):
        raise ValueError(f"{', '.join(f'{{{name}}}' for name in needed)} must stand in it; {{title}} may")
    return sentence


class OrderClaimsSpec(_OrderSpec):
    """The sentence that asks which of two steps comes first."""

    sentence: str
    """Asks whether ``{a}`` comes before ``{b}``; ``{title}`` is the procedure."""

    @field_validator("sentence")
    @classmethod
    def _shows_both(cls, sentence: str) -> str:
        return _checked(sentence, ("a", "b"))


class OrderQuestionsSpec(_OrderSpec):
    """The sentence that asks for the next step."""

    sentence: str
    """Asks what comes right after ``{a}``; ``{title}`` is the procedure."""

    @field_validator("sentence")
    @classmethod
    def _shows_one(cls, sentence: str) -> str:
        return _checked(sentence, ("a",))


class OrderClaims(Map):
    """Yes/no questions whether one step of a procedure comes before another; the seed draws yes or no."""

    kind: ClassVar[str] = "order_claims"
    spec_class: ClassVar[type[StepSpec]] = OrderClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Procedure])}
    output: ClassVar[type[Row] | None] = Fact[LabelledClaim]
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One question for each step that is drawn."""
        procedure: Procedure = row.payload
        drawn = random.Random(f"{self.context.seed}:{row.id}")
        outcomes: list[Outcome] = []
        places = range(len(procedure.steps))
        for first in sorted(drawn.sample(places[:-1], min(self.spec.most, len(places) - 1))):
            pair = (first, drawn.choice(places[first + 1 :]))
            forward = drawn.random() < 0.5
            a, b = (procedure.steps[place] for place in (pair if forward else pair[::-1]))
            text, _ = fill_template(self.spec.sentence, {"a": a, "b": b, "title": procedure.title})
            claim = LabelledClaim(text=text, label="true" if forward else "false", asked=True)
            made = Fact[LabelledClaim].child(row, produced_by=self.produced_by(), slot=str(first), payload=claim)
            outcomes.append(Kept(made, str(first)))
        return outcomes


class OrderQuestions(Map):
    """Questions what comes right after a step; wrong answers are steps of the procedure that are not next to it."""

    kind: ClassVar[str] = "order_questions"
    spec_class: ClassVar[type[StepSpec]] = OrderQuestionsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Procedure])}
    output: ClassVar[type[Row] | None] = Fact[QuestionAnswer]
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_other_step": "Every step of the procedure is next to the one asked about."
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One question for each step that is drawn."""
        procedure: Procedure = row.payload
        steps = procedure.steps
        wrong = {
            place: tuple(step for at, step in enumerate(steps) if abs(at - place) > 1)
            for place in range(len(steps) - 1)
        }
        usable = [place for place, others in wrong.items() if others]
        if not usable:
            return [NotApplicable("no_other_step", "0")]
        drawn = random.Random(f"{self.context.seed}:{row.id}").sample(usable, min(self.spec.most, len(usable)))
        outcomes: list[Outcome] = []
        for place in sorted(drawn):
            text, _ = fill_template(self.spec.sentence, {"a": steps[place], "title": procedure.title})
            asked = QuestionAnswer(question=text, answers=(steps[place + 1],), wrong=wrong[place], wrong_from="listed")
            made = Fact[QuestionAnswer].child(row, produced_by=self.produced_by(), slot=str(place), payload=asked)
            outcomes.append(Kept(made, str(place)))
        return outcomes
