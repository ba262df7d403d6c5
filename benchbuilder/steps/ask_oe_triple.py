"""Turns true statements about triples into open-ended questions with the template of their relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.config import FileRef, StepSpec
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
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer
from benchbuilder.steps.language.relations import RelationTables


class AskOeTripleSpec(StepSpec):
    """Whether and how open-ended questions about triples are asked."""

    enabled: bool
    relations: dict[str, FileRef]
    """A relation table for each partition; ``default`` serves the others."""
    mark: str
    """What a question ends in."""
    ends: str
    """Characters that end a sentence; a question holds none but its mark."""
    ignore: str
    """Characters that do not count when the answer is looked for in the question."""
    matching: LengthUnit = "characters"
    """Whether the question gives the answer away by its characters anywhere, or by whole words only."""


class AskOeTriple(Map):
    """One open-ended question a true statement, by the relation's template, by switch."""

    kind = "ask_oe_triple"
    spec_class = AskOeTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact[Triple], mode="parent")}
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "switched_off": "The recipe asks no open-ended questions about triples.",
        "false_statement": "Open-ended questions are asked about true statements only.",
        "unknown_relation": "The relation table has no row that serves this relation and its ends.",
        "no_template": "The relation has no open-ended question.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "leaks_answer": "The question holds the answer.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """None; RecipeError with every fault of the relation tables."""
        RelationTables.read({name: ref.file for name, ref in self.spec.relations.items()})
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the relation tables; RecipeError with the line of each fault."""
        spec: AskOeTripleSpec = self.spec
        self._tables = RelationTables.read({name: ref.file for name, ref in spec.relations.items()})

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch a statement."""
        statement: Statement = row
        spec: AskOeTripleSpec = self.spec
        if not spec.enabled:
            return [NotApplicable("switched_off")]
        if statement.polarity != "true":
            return [NotApplicable("false_statement")]
        fact: Fact[Triple] = parents["fact"]
        triple = fact.payload
        entry = self._tables.find(fact.partition, triple.relation, triple.head, triple.tail)
        if entry is None:
            return [Dropped("unknown_relation", triple.relation)]
        if not entry.oe:
            return [Dropped("no_template", triple.relation)]
        text, _ = fill_template(entry.oe, {"head": triple.head, "tail": triple.tail, "relation": triple.relation})
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        if leaks_answer(triple.head if entry.answer_end == "head" else triple.tail, text, spec.ignore, spec.matching):
            return [Dropped("leaks_answer", text)]
        question = Question.child(
            statement,
            produced_by=self.produced_by(f"template:{entry.relation}"),
            type="oe",
            text=text,
            context=statement.context,
            fact=statement.fact,
            checks=("one_question", "no_leak"),
        )
        return [Kept(question)]
