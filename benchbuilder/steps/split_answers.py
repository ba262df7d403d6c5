"""Makes questions with one right option of those with several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    FrozenModel,
    Kept,
    MultipleAnswerChoice,
    Option,
    Outcome,
    Regex,
    Row,
    find_all,
    replace_all,
)
from benchbuilder.steps.base import Map, Port


class QuestionInversion(FrozenModel):
    """What in a question asks for that which is not so, and what stands in its place where it asks for what is."""

    find: Regex
    put: str


class SplitAnswersSpec(StepSpec):
    """What becomes of questions with several right options.

    ``split`` makes a fact of each right option, ``drop`` leaves such questions out. `turned` lists what makes a
    question ask for the options that are not so: by the first that is found in it, its right options are taken as
    wrong and its wrong ones as right, and the question is turned accordingly. That is right only where every option is
    either so or not so by itself.
    """

    several: Literal["drop", "split"]
    turned: tuple[QuestionInversion, ...] = ()


class SplitAnswers(Map):
    """A fact with one right option for each right option of a question.

    The other right options are left out of its options, so that none of them is ever taken as a wrong answer. The slot
    of a fact is the key of its option (empty where questions with several are dropped).
    """

    kind: ClassVar[str] = "split_answers"
    spec_class: ClassVar[type[StepSpec]] = SplitAnswersSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[MultipleAnswerChoice])}
    output: ClassVar[type[Row] | None] = Fact[Choice]
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "several_answers": "Several options are right, and the recipe leaves such questions out.",
        "none_right": "The question asks for what is not so, and that is all of its options.",
    }

    spec: SplitAnswersSpec

    def map(self, row: Fact[MultipleAnswerChoice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each right option, or one that says why there is none."""
        asked = row.payload
        question, rule, right = asked.question, "as_asked", set(asked.answer_keys)
        turn = next((turn for turn in self.spec.turned if find_all(turn.find, question)), None)
        if turn is not None:
            question, rule = replace_all(turn.find, turn.put, question), "turned"
            right = {option.key for option in asked.options} - right
        if not right:
            return [Dropped("none_right", asked.question)]
        if self.spec.several == "drop" and len(right) > 1:
            return [Dropped("several_answers", " ".join(sorted(right)))]
        return [self._fact(row, question, option, right, rule) for option in asked.options if option.key in right]

    def _fact(
        self, row: Fact[MultipleAnswerChoice], question: str, right: Option, all_right: set[str], rule: str
    ) -> Outcome:
        asked = row.payload
        slot = right.key if self.spec.several == "split" else ""
        choice = Choice(
            context=asked.context, question=question, answer_key=right.key, answer=right.text,
            options=tuple(o for o in asked.options if o.key == right.key or o.key not in all_right),
            category=asked.category, split=asked.split,
        )  # fmt: skip
        made = Fact[Choice].child(
            row, produced_by=self.produced_by(rule), slot=slot, payload=choice, original=row.original
        )
        return Kept(made, slot)
