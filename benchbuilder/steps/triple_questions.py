"""Asks questions about triples with the templates of their relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Question,
    Row,
    SpecIssue,
    Statement,
    Table,
    Triple,
    fill_template,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer, open_question
from benchbuilder.steps.language.relations import UNKNOWN_RELATION, RelationStep, RelationStepSpec, fill_relation
from benchbuilder.steps.language.statement_choice import (
    CHOICE_REASONS,
    ONE_OF_FACT,
    PolarityRule,
    StatementChoice,
    missing_statements,
)


def _check_form(form: str) -> str:
    if (faults := template_faults(form, ("statement",))) or "{statement}" not in form:
        raise ValueError("; ".join(faults) or "{statement} is needed")
    return form


class _QuestionSpec(RelationStepSpec):
    """The form of questions."""

    mark: str
    """The end of every question."""
    ends: str
    """Characters that end a sentence; a question contains none except its mark."""


class AskTfTripleSpec(_QuestionSpec):
    """How true/false questions about triples are asked."""

    polarity: PolarityRule
    """Which statements are asked about, as in `ask_tf`. With ``family`` or ``every``, all have `false_form`."""
    true_form: Annotated[str, AfterValidator(_check_form)] | None
    """The form of the one question of a fact about its true statement; ``null``: the relation's own question."""
    false_form: Annotated[str, AfterValidator(_check_form)]
    """The form of every other question, over ``{statement}`` without its stop."""
    stop: str
    """The final stop that a statement loses in a question."""


class AskTfTriple(RelationStep):
    """True/false questions about the statements of triples that `polarity` chooses, in the same form for all.

    Where a fact has one question, that about its true statement may be the relation's own.
    """

    kind = "ask_tf_triple"
    spec_class = AskTfTripleSpec
    version = 3
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Triple], mode="parent"),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        **CHOICE_REASONS,
        **UNKNOWN_RELATION,
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "inconsistent": "The question does not contain the statement.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """A rule that needs the statements where the port is left out; RecipeError for faults of relation tables."""
        return (*super().validate_inputs(rows), *missing_statements(self.spec.polarity, rows))

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the relation tables, and which facts have a false statement."""
        super().open(lookups)
        self._choice = StatementChoice(self.spec.polarity, self.context.seed, lookups.get("statements"))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        statement: Statement = row
        spec: AskTfTripleSpec = self.spec
        if (excluded := self._choice.exclusion(statement)) is not None:
            return [excluded]
        bare = statement.text.removesuffix(spec.stop)
        is_plain = statement.polarity == "true" and spec.polarity in ONE_OF_FACT
        form = spec.true_form if is_plain else spec.false_form
        if form is not None:
            text, rule = fill_template(form, {"statement": bare})[0], "true_form" if is_plain else "false_form"
        else:
            entry = self.find_row(statement.partition, parents["fact"].payload)
            if isinstance(entry, Dropped):
                return [entry]
            text, rule = fill_relation(entry.tf, parents["fact"].payload)[0], f"template:{entry.relation}"
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        if bare not in text:
            return [Dropped("inconsistent", text)]
        checks = ("one_question", "holds_statement")
        question = Question.true_or_false(
            statement, produced_by=self.produced_by(rule), text=text, checks=checks,
            family=self._choice.family_of(statement),
        )  # fmt: skip
        return [Kept(question)]


class AskOeTripleSpec(_QuestionSpec):
    """Whether and how open-ended questions about triples are asked."""

    enabled: bool
    ignore: str
    """Characters that are ignored when the question is searched for the answer."""
    matching: LengthUnit = "characters"
    """Whether the question reveals the answer by its characters anywhere, or by whole words only."""


class AskOeTriple(RelationStep):
    """One open-ended question per true statement, by the relation's template, if enabled."""

    kind = "ask_oe_triple"
    spec_class = AskOeTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact[Triple], mode="parent")}
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "switched_off": "The recipe asks no open-ended questions about triples.",
        "false_statement": "Open-ended questions are asked about true statements only.",
        **UNKNOWN_RELATION,
        "no_template": "The relation has no open-ended question.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "leaks_answer": "The question contains the answer.",
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        statement: Statement = row
        spec: AskOeTripleSpec = self.spec
        if not spec.enabled:
            return [NotApplicable("switched_off")]
        if statement.polarity != "true":
            return [NotApplicable("false_statement")]
        fact: Fact[Triple] = parents["fact"]
        triple = fact.payload
        entry = self.find_row(fact.partition, triple)
        if isinstance(entry, Dropped):
            return [entry]
        if not entry.oe:
            return [Dropped("no_template", triple.relation)]
        text, _ = fill_relation(entry.oe, triple)
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        if leaks_answer(triple.head if entry.answer_end == "head" else triple.tail, text, spec.ignore, spec.matching):
            return [Dropped("leaks_answer", text)]
        produced_by = self.produced_by(f"template:{entry.relation}")
        return [Kept(open_question(statement, produced_by, text, ("one_question", "no_leak")))]
