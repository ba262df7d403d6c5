"""Makes yes/no questions and open questions about the order of the steps of a procedure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    SpecIssue,
    fill_template,
    template_faults,
)
from benchbuilder.steps.base import Map, Port

_NO_SENTENCE = "The recipe has no sentence that asks for the order of steps (forms.comes_before, forms.comes_next)."


class _OrderSpec(StepSpec):
    most: Annotated[int, Field(ge=1)] = 3
    """The most questions about one procedure; its steps are drawn by seed."""


def _checked(sentence: str, needed: Sequence[str], may: Sequence[str] = ("title",)) -> str:
    if not sentence:
        return sentence
    present = [name for name in may if f"{{{name}}}" in sentence]
    if any(f"{{{name}}}" not in sentence for name in needed) or template_faults(sentence, (*needed, *present)):
        raise ValueError(f"{', '.join(f'{{{name}}}' for name in needed)} must stand in it; {{title}} may")
    return sentence


class OrderClaimsSpec(_OrderSpec):
    """The sentence that asks which of two steps comes first."""

    sentence: str
    """Asks whether ``{a}`` comes before ``{b}``; empty: nothing is asked. ``{title}`` is the procedure; a sentence
    without it has the title as its context."""

    @field_validator("sentence")
    @classmethod
    def _shows_both(cls, sentence: str) -> str:
        return _checked(sentence, ("a", "b"))


class OrderQuestionsSpec(_OrderSpec):
    """The sentence that asks for the next step."""

    sentence: str
    """Asks what comes right after ``{a}``; empty: nothing is asked. ``{title}`` is the procedure; a sentence without it
    has the title as its context."""

    @field_validator("sentence")
    @classmethod
    def _shows_one(cls, sentence: str) -> str:
        return _checked(sentence, ("a",))


class _OrderMap(Map):
    """A map whose spec has a `sentence` about the order of steps."""

    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Procedure])}
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"

    def remarks(self) -> Iterator[SpecIssue]:
        """That nothing is asked without a sentence."""
        if not self.spec.sentence:
            yield SpecIssue("sentence", "nothing is asked about the order of steps: write a sentence "
                            "(forms.comes_before, forms.comes_next)", "", ())  # fmt: skip

    def _context(self, procedure: Procedure) -> str:
        """The title, unless the sentence has it."""
        return "" if "{title}" in self.spec.sentence else procedure.title


class OrderClaims(_OrderMap):
    """Yes/no questions whether one step of a procedure comes before another, half with yes; the seed draws which."""

    kind: ClassVar[str] = "order_claims"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[StepSpec]] = OrderClaimsSpec
    output: ClassVar[type[Row] | None] = Fact[LabelledClaim]
    reasons: ClassVar[Mapping[str, str]] = {"no_sentence": _NO_SENTENCE}

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One question for each step that is drawn."""
        procedure: Procedure = row.payload
        if not self.spec.sentence:
            return [NotApplicable("no_sentence", "0")]
        drawn = random.Random(f"{self.context.seed}:{row.id}")
        outcomes: list[Outcome] = []
        places = range(len(procedure.steps))
        firsts = drawn.sample(places[:-1], min(self.spec.most, len(places) - 1))
        yes_first = drawn.random() < 0.5
        forwards = {first: (at % 2 == 0) == yes_first for at, first in enumerate(firsts)}
        for first, forward in sorted(forwards.items()):
            pair = (first, drawn.choice(places[first + 1 :]))
            a, b = (procedure.steps[place] for place in (pair if forward else pair[::-1]))
            text, _ = fill_template(self.spec.sentence, {"a": a, "b": b, "title": procedure.title})
            label: Literal["true", "false"] = "true" if forward else "false"
            claim = LabelledClaim(text=text, label=label, premise=self._context(procedure), asked=True)
            made = Fact[LabelledClaim].child(row, produced_by=self.produced_by(), slot=str(first), payload=claim)
            outcomes.append(Kept(made, str(first)))
        return outcomes


class OrderQuestions(_OrderMap):
    """Questions what comes right after a step; wrong answers are steps of the procedure that are not next to it."""

    kind: ClassVar[str] = "order_questions"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[StepSpec]] = OrderQuestionsSpec
    output: ClassVar[type[Row] | None] = Fact[QuestionAnswer]
    reasons: ClassVar[Mapping[str, str]] = {
        "no_sentence": _NO_SENTENCE,
        "no_other_step": "Every step of the procedure is next to the one asked about.",
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One question for each step that is drawn."""
        procedure: Procedure = row.payload
        if not self.spec.sentence:
            return [NotApplicable("no_sentence", "0")]
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
            asked = QuestionAnswer(
                context=self._context(procedure), question=text, answers=(steps[place + 1],), wrong=wrong[place],
                wrong_from="listed",
            )  # fmt: skip
            made = Fact[QuestionAnswer].child(row, produced_by=self.produced_by(), slot=str(place), payload=asked)
            outcomes.append(Kept(made, str(place)))
        return outcomes
