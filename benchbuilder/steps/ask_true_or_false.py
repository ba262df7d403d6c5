"""Asks whether a statement is true, in one sentence that shows it whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Kept,
    NotApplicable,
    Outcome,
    Question,
    Row,
    Statement,
    Table,
    fill_template,
    inner_quotes,
    template_faults,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.statement_choice import CHOICE_REASONS, PolarityRule, StatementChoice


class AskTrueOrFalseSpec(StepSpec):
    """How statements are shown, and which of them."""

    sentence: str
    """Asks whether ``{claim}`` is true; empty: nothing is asked. With ``{context}``, what stands above the statement
    (the title of a document) is named in the sentence, and not shown above it."""
    alone: str = ""
    """The sentence for statements without context, where `sentence` names one; empty: the same."""
    polarity: Literal["balanced", "even", "true_only", "all"] = "even"
    """About which statement of a fact its one question is; see `ask_tf`. With ``all``, every statement is asked about:
    a fact whose true and false statement differ in a detail gives one question with yes and one with no."""

    @field_validator("sentence", "alone")
    @classmethod
    def _shows_the_claim(cls, sentence: str) -> str:
        if sentence and (template_faults(sentence, ("claim", "context")) or sentence.count("{claim}") != 1):
            raise ValueError("{claim} must stand in it once, and nothing else in braces but {context}")
        return sentence


class AskTrueOrFalse(Map):
    """A true/false question that shows the statement as it is: no letter of it changes, only quotation marks inside.

    It needs no rule of the language, and is asked of statements that only a speaker's examples made.
    """

    kind = "ask_true_or_false"
    version = 2
    spec_class = AskTrueOrFalseSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        **{name: CHOICE_REASONS[name] for name in ("other_polarity",)},
        "no_sentence": "The recipe has no sentence that asks whether a claim is true.",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read which facts have a false statement."""
        rule: PolarityRule = "true_only" if self.spec.polarity == "all" else self.spec.polarity
        self._choice = StatementChoice(rule, self.context.seed, lookups.get("statements"))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The question, or that the fact is asked about its other statement."""
        statement: Statement = row
        if not self.spec.sentence:
            return [NotApplicable("no_sentence")]
        excluded = None if self.spec.polarity == "all" else self._choice.exclusion(statement)
        if excluded is not None:
            return [excluded]
        sentence = self.spec.sentence if statement.context or not self.spec.alone else self.spec.alone
        claim = inner_quotes(statement.text, sentence)
        text, places = fill_template(sentence, {"claim": claim, "context": statement.context})
        shown = statement.model_copy(update={"context": ""}) if "context" in places else statement
        return [Kept(Question.true_or_false(
            shown, produced_by=self.produced_by(), text=text, checks=("shown_whole",),
            family=self._choice.family_of(statement),
        ))]  # fmt: skip
