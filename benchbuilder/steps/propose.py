"""Proposes a right and a wrong answer to each question, as they stand."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from benchbuilder.config import AnswerSentence, StepSpec
from benchbuilder.core import (
    ANSWER_FORM,
    AnsweredQuestion,
    Choice,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Outcome,
    Row,
    Statement,
    Table,
    drawn_name,
    equality_key,
    fill_template,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.answer_texts import contains_text
from benchbuilder.steps.language.bounds import NumberRules, NumberUnit, NumericBound, bound_before, may_be_implied
from benchbuilder.steps.language.option_texts import CatchAllSpec, OptionNames, issues_of_payload, texts_of_options
from benchbuilder.steps.language.rewording import OptionWeights, Rewording

_SLOTS: tuple[Literal["true", "false"], ...] = ("true", "false")


class ProposeSpec(StepSpec):
    """How answers are worded, and which wrong one is proposed."""

    says: AnswerSentence
    """An answer as items give it, over ``{answer}``."""
    wrong: Literal["balanced", "random", "first"] = "balanced"
    """Which wrong answer: by seed, or the first. ``balanced`` draws options so that wrong ones have the letters and
    length ranks of right ones; answers that are no options are drawn evenly."""
    catch_alls: CatchAllSpec = CatchAllSpec()
    """Options about all others, which are never proposed."""
    ignore: str = ""
    """Characters that are ignored when answers are compared."""
    matching: LengthUnit = "words"
    """Whether one answer contains another anywhere, or as whole words only. Such answers are proposed last."""
    bounds: tuple[NumericBound, ...] = ()
    """Bounds that restrict a wrong number to one side; `before` is matched in the question."""
    units: tuple[NumberUnit, ...] = ()
    """Units whose numbers can be compared."""
    rewording: Rewording | None = None
    """The answers that may be paraphrases of the right one, and are not taken; ``null``: none are looked for."""


class Propose(Map):
    """Two statements for each fact: its right answer and one wrong answer, both worded by one sentence."""

    kind: ClassVar[str] = "propose"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = ProposeSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact), "facts": Port(Fact, mode="lookup")}
    output: ClassVar[type[Row] | None] = Statement
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = _SLOTS
    reasons: ClassVar[Mapping[str, str]] = {
        "no_answer": "The question has no right answer.",
        "no_wrong_answer": "Every wrong answer is about all others, or names other options.",
        "alike": "Every wrong answer is the right one in other words.",
        "implied_by_true": "By a bound or a range, every other wrong answer would be right as well.",
    }

    spec: ProposeSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[Any]:
        """Facts without a question and answers."""
        yield from issues_of_payload(rows)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Look at all options together."""
        facts = lookups["facts"]
        payloads = [fact.payload for fact in facts]
        self._weights = None
        if self.spec.wrong == "balanced" and payloads and isinstance(payloads[0], Choice):
            self._weights = OptionWeights(facts)
        self._catch_alls = self.spec.catch_alls.find(payloads)
        self._names = OptionNames((one.context + one.question, texts_of_options(one)) for one in payloads)
        self._numbers = NumberRules(self.spec.bounds, self.spec.units, self.spec.ignore)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The right answer, and a wrong one."""
        payload: AnsweredQuestion = row.payload
        right = next(iter(payload.right_answers()), "")
        wrong = self._choose(row, payload, right) if right.strip() else Dropped("no_answer")
        if isinstance(wrong, Dropped):
            return [Dropped(wrong.reason, wrong.detail, slot=slot) for slot in _SLOTS]
        answers = ((right, ""), (wrong, payload.wrong_from))
        return [Kept(self._statement(row, slot, *answer), slot) for slot, answer in zip(_SLOTS, answers, strict=True)]

    def _statement(self, fact: Fact[Any], slot: Literal["true", "false"], answer: str, wrong_from: str) -> Statement:
        text, spans = fill_template(self.spec.says, {"answer": answer})
        return Statement.child(
            fact, produced_by=self.produced_by("right" if slot == "true" else wrong_from), slot=slot, polarity=slot,
            text=text, joined="answer", answer=spans["answer"], context=fact.payload.context, fact=fact.id,
            checks=("differs",), form=ANSWER_FORM, wrong_from=wrong_from,
        )  # fmt: skip

    def _in_order(self, row: Fact[Any], payload: AnsweredQuestion) -> Sequence[str]:
        """The wrong answers in the order in which they are tried."""
        seed = f"{self.context.seed}:{drawn_name(row)}"
        if self._weights is not None and isinstance(payload, Choice):
            drawn = self._weights.in_random_order(row.partition, payload.options, payload.answer_key, seed)
            return [option.text for option in drawn]
        wrong = list(payload.wrong_answers())
        if self.spec.wrong != "first":
            random.Random(seed).shuffle(wrong)
        return wrong

    def _choose(self, row: Fact[Any], payload: AnsweredQuestion, right: str) -> str | Dropped:
        """The wrong answer that is proposed: one that does not contain the right one, if there is one."""
        spec, text = self.spec, payload.context + payload.question
        wrong = self._in_order(row, payload)
        known = {equality_key(answer) for answer in payload.right_answers()}
        side = bound_before(payload.question, spec.bounds)
        reason, second = "no_wrong_answer", ""
        for answer in wrong:
            if not answer.strip() or self._catch_alls.fits(answer) or self._names.fits(answer, text):
                continue
            if equality_key(answer) in known or (
                spec.rewording and spec.rewording.fits(answer, right, text, spec.matching, spec.ignore)
            ):
                reason = "alike"
            elif may_be_implied(answer, right, "", side, self._numbers):
                reason = "implied_by_true"
            elif self._overlap(answer, right):
                second = second or answer
            else:
                return answer
        return second or Dropped(reason, " | ".join(wrong))

    def _overlap(self, one: str, other: str) -> bool:
        rules = (self.spec.matching, self.spec.ignore)
        return contains_text(one, other, *rules) or contains_text(other, one, *rules)
