"""Asks questions about triples with the templates of their relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

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
    Statement,
    Table,
    Triple,
    fill_template,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.questions import Polarities, is_one_sentence, leaks_answer, open_question
from benchbuilder.steps.language.relations import UNKNOWN_RELATION, RelationStep, RelationStepSpec, fill_relation


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

    polarity: Literal["balanced", "true_only"]
    """``balanced``: about the true or a false statement of a fact, by seed; ``true_only``: about the true one.

    A fact without a false statement in the port ``statements`` is asked about its true one.
    """
    true_form: Annotated[str, AfterValidator(_check_form)] | None
    """The form of a question about a true statement; ``null``: the relation's own question."""
    false_form: Annotated[str, AfterValidator(_check_form)]
    """The form of a question about a false statement, over ``{statement}`` without its stop."""
    stop: str
    """The final stop that a statement loses in a question."""


class AskTfTriple(RelationStep):
    """One true/false question per fact: the relation's own for its true statement, a general form for its false one."""

    kind = "ask_tf_triple"
    spec_class = AskTfTripleSpec
    version = 2
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Triple], mode="parent"),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "other_polarity": "The question of this fact is about its other statement.",
        **UNKNOWN_RELATION,
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "inconsistent": "The question does not contain the statement.",
    }

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the relation tables, and which facts have a false statement."""
        super().open(lookups)
        self._polarity = Polarities(self.spec.polarity, self.context.seed, lookups.get("statements"))

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        statement: Statement = row
        spec: AskTfTripleSpec = self.spec
        if statement.polarity != self._polarity.polarity_of(statement.fact):
            return [NotApplicable("other_polarity")]
        bare = statement.text.removesuffix(spec.stop)
        form = spec.true_form if statement.polarity == "true" else spec.false_form
        if form is not None:
            text, rule = fill_template(form, {"statement": bare})[0], f"{statement.polarity}_form"
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
        return [Kept(Question.true_or_false(statement, produced_by=self.produced_by(rule), text=text, checks=checks))]


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
