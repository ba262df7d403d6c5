"""Gives each labelled claim its right and its wrong answer, and asks about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import ClaimSentence, StepSpec
from benchbuilder.core import (
    Fact,
    Kept,
    LabelledClaim,
    LengthUnit,
    NotApplicable,
    Outcome,
    Question,
    Row,
    SpecIssue,
    Statement,
    content_id,
    equality_key,
    fill_template,
    split_gold,
    text_length,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import SearchRule, replace_span, search_negation
from benchbuilder.steps.language.questions import shown_context

_FACT = Fact[LabelledClaim]
_SLOTS: tuple[Literal["true", "false"], ...] = ("true", "false")


class AnswerClaimsSpec(StepSpec):
    """How a claim is answered with yes and no, and when an answer says more than that."""

    says_yes: str
    """The answer that affirms."""
    says_no: str
    """The answer that denies."""
    sentences: bool = False
    """Whether an answer repeats what is true, where both sides have a sentence: a negation, or a short gold text."""
    negation: tuple[SearchRule, ...] = ()
    """Where a true claim is negated; the first rule that applies counts."""
    unit: LengthUnit = "words"
    """The unit of `longest_gold`."""
    longest_gold: Annotated[int, Field(ge=1)] = 25
    """A longer gold text is a paragraph, and no answer."""
    joiner: str = " "
    """What stands between the verdict and the sentence."""


class AnswerClaims(Map):
    """Two answers for each claim: the right verdict, and the other one.

    With `sentences`, both verdicts have a sentence or none has: the true claim and its negation; or, for a false claim
    about the world, the short text that shows what is true, and the claim itself.
    """

    kind: ClassVar[str] = "answer_claims"
    spec_class: ClassVar[type[StepSpec]] = AnswerClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = Statement
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = _SLOTS
    reasons: ClassVar[Mapping[str, str]] = {
        "unknown_label": "The claim is neither labelled as true nor as false.",
        "no_verdicts": "The recipe has no words for yes and no (forms.says_yes, forms.says_no).",
    }

    spec: AnswerClaimsSpec

    def remarks(self) -> Iterator[SpecIssue]:
        """That nothing is answered without words."""
        if not (self.spec.says_yes and self.spec.says_no):
            yield SpecIssue("says_yes", "no claim is answered: forms.says_yes and forms.says_no are empty", "", ())

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The right answer, then the wrong one."""
        claim: LabelledClaim = row.payload
        if claim.label == "unknown":
            return [NotApplicable("unknown_label", slot) for slot in _SLOTS]
        if not (self.spec.says_yes and self.spec.says_no):
            return [NotApplicable("no_verdicts", slot) for slot in _SLOTS]
        yes, no = self._answers(claim)
        right, wrong = (yes, no) if claim.label == "true" else (no, yes)
        joined: Literal["verdict", "template"] = "template" if len(yes) > 1 else "verdict"
        texts = {"true": right, "false": wrong}
        return [Kept(self._statement(row, slot, self.spec.joiner.join(texts[slot]), joined), slot) for slot in _SLOTS]

    def _statement(
        self, row: Any, slot: Literal["true", "false"], text: str, joined: Literal["verdict", "template"]
    ) -> Statement:
        claim: LabelledClaim = row.payload
        # one claim about several texts is one family: who has read it once knows what it is about
        family = content_id("family", equality_key(claim.text), "") if claim.about == "text" else ""
        return Statement.child(
            row, produced_by=self.produced_by(joined), slot=slot, polarity=slot, text=text, joined=joined,
            context=shown_context(claim.premise), fact=row.id, family=family, form="yes_no" if claim.asked else "claim",
            checks=("as_labelled",), wrong_from="" if slot == "true" else joined,
        )  # fmt: skip

    def _answers(self, claim: LabelledClaim) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The parts of the answers yes and no."""
        spec = self.spec
        denial = self._denial(claim) if spec.sentences and claim.about == "world" and not claim.asked else ""
        return ((spec.says_yes, claim.text), (spec.says_no, denial)) if denial else ((spec.says_yes,), (spec.says_no,))

    def _denial(self, claim: LabelledClaim) -> str:
        """What stands after "no": a negation of a true claim, or the text that refutes a false one; or nothing."""
        if claim.label == "true":
            edit = search_negation(claim.text, self.spec.negation)
            return "" if edit is None else replace_span(claim.text, *edit)
        names = (split_gold(name)[1] for name in claim.gold)
        texts = (text for text in names if 1 < text_length(text, self.spec.unit) <= self.spec.longest_gold)
        return next(texts, "")


class AskClaimSpec(StepSpec):
    """How a claim is shown."""

    sentence: ClaimSentence
    """Asks whether ``{claim}`` is true; empty: no claim is asked about, only yes/no questions are asked."""


class AskClaim(Map):
    """One true/false question for each claim, with the premise before it; a yes/no question is asked as it is."""

    kind: ClassVar[str] = "ask_claim"
    spec_class: ClassVar[type[StepSpec]] = AskClaimSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(_FACT, mode="parent")}
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "wrong_answer": "A claim is asked about once, with its right answer.",
        "no_sentence": "The recipe has no sentence that asks whether a claim is true.",
    }

    spec: AskClaimSpec

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """The question of the right answer."""
        statement: Statement = row
        claim: LabelledClaim = parents["fact"].payload
        if statement.polarity != "true":
            return [NotApplicable("wrong_answer")]
        if not claim.asked and not self.spec.sentence:
            return [NotApplicable("no_sentence")]
        text = claim.text if claim.asked else fill_template(self.spec.sentence, {"claim": claim.text})[0]
        return [Kept(Question.child(
            statement, produced_by=self.produced_by(statement.form), type="tf", text=text, context=statement.context,
            expected="yes" if claim.label == "true" else "no", fact=statement.fact, family=statement.family,
            checks=("shown_whole",), form=statement.form, asked=claim.text,
        ))]  # fmt: skip
