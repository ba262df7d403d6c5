"""Writes a triple as a true sentence with the template of its relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.config import FileRef, StepSpec
from benchbuilder.core import Dropped, Fact, Kept, Outcome, Row, SpecIssue, Statement, Table, Triple, fill_template
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.relations import RelationTables


class StateTripleSpec(StepSpec):
    """How triples become statements."""

    relations: dict[str, FileRef]
    """A relation table for each partition; ``default`` serves the others."""


class StateTriple(Map):
    """A true statement by the relation's template; the answer's span is known by construction.

    A relation that no row of the table serves drops the triple, naming the relation.
    """

    kind = "state_triple"
    version = 2
    spec_class = StateTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Triple])}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "head_equals_tail": "Head and tail have become the same text, by conversion of script for instance.",
        "unknown_relation": "The relation table has no row that serves this relation and its ends.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """None; RecipeError with every fault of the relation tables."""
        RelationTables.read({name: ref.file for name, ref in self.spec.relations.items()})
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the relation tables; RecipeError with the line of each fault."""
        spec: StateTripleSpec = self.spec
        self._tables = RelationTables.read({name: ref.file for name, ref in spec.relations.items()})

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch a fact."""
        fact: Fact[Triple] = row
        triple = fact.payload
        if triple.head == triple.tail:
            return [Dropped("head_equals_tail", triple.head)]
        entry = self._tables.find(fact.partition, triple.relation, triple.head, triple.tail)
        if entry is None:
            return [Dropped("unknown_relation", triple.relation)]
        text, spans = fill_template(
            entry.statement, {"head": triple.head, "tail": triple.tail, "relation": triple.relation}
        )
        statement = Statement.child(
            fact,
            produced_by=self.produced_by(f"template:{entry.relation}"),
            polarity="true",
            text=text,
            joined="template",
            answer=spans[entry.answer_end],
            fact=fact.id,
            checks=("holds_answer",),
        )
        return [Kept(statement)]
