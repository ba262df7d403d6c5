"""Turns statements about triples into true/false questions with the template of their relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator

from benchbuilder.config import FileRef, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
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
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import without_end
from benchbuilder.steps.language.questions import Polarities, is_one_sentence
from benchbuilder.steps.language.relations import RelationTables


def _check_form(form: str) -> str:
    if (faults := template_faults(form, ("statement",))) or "{statement}" not in form:
        raise ValueError("; ".join(faults) or "{statement} must stand in it")
    return form


class AskTfTripleSpec(StepSpec):
    """How true/false questions about triples are asked."""

    relations: dict[str, FileRef]
    """A relation table for each partition; ``default`` serves the others."""
    polarity: Literal["balanced", "true_only"]
    """``balanced``: about the true or a false statement of a fact, by seed; ``true_only``: about the true one.

    A fact that has no false statement among those of the port ``statements`` is asked about its true one.
    """
    true_form: Annotated[str, AfterValidator(_check_form)] | None
    """How a true statement is asked about; ``null``: by the relation's own question."""
    false_form: Annotated[str, AfterValidator(_check_form)]
    """How a false statement is asked about: a form over ``{statement}``, its stop left out."""
    stop: str
    """The final stop that a statement loses in a question."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""


class AskTfTriple(Map):
    """One true/false question a fact: the relation's own for its true statement, a general form for its false one."""

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
        "unknown_relation": "The relation table has no row that serves this relation and its ends.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "inconsistent": "The question does not hold the statement.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """None; RecipeError with every fault of the relation tables."""
        RelationTables.read({name: ref.file for name, ref in self.spec.relations.items()})
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the relation tables; RecipeError with the line of each fault."""
        spec: AskTfTripleSpec = self.spec
        self._polarity = Polarities(spec.polarity, self.context.seed, lookups.get("statements"))
        self._tables = RelationTables.read({name: ref.file for name, ref in spec.relations.items()})

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch a statement."""
        statement: Statement = row
        spec: AskTfTripleSpec = self.spec
        if statement.polarity != self._polarity.polarity_of(statement.fact):
            return [NotApplicable("other_polarity")]
        bare = without_end(statement.text, spec.stop)
        form = spec.true_form if statement.polarity == "true" else spec.false_form
        if form is not None:
            text, rule = fill_template(form, {"statement": bare})[0], f"{statement.polarity}_form"
        else:
            triple: Triple = parents["fact"].payload
            entry = self._tables.find(statement.partition, triple.relation, triple.head, triple.tail)
            if entry is None:
                return [Dropped("unknown_relation", triple.relation)]
            values = {"head": triple.head, "tail": triple.tail, "relation": triple.relation}
            text, rule = fill_template(entry.tf, values)[0], f"template:{entry.relation}"
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        if bare not in text:
            return [Dropped("inconsistent", text)]
        checks = ("one_question", "holds_statement")
        return [Kept(Question.true_or_false(statement, produced_by=self.produced_by(rule), text=text, checks=checks))]
