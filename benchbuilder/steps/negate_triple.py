"""Writes a triple as a negated sentence with the template of its relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import FileRef, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    Outcome,
    Regex,
    Row,
    Span,
    SpecIssue,
    Statement,
    Table,
    Triple,
    fill_template,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import replace_span, shift_span
from benchbuilder.steps.language.negation import SearchRule, count_negations, search_negation
from benchbuilder.steps.language.relations import RelationTables


class NegateTripleSpec(StepSpec):
    """How statements about triples are negated."""

    relations: dict[str, FileRef]
    """A relation table for each partition; ``default`` serves the others."""
    method: Literal["table", "search"]
    """``table``: the relation's own negated sentence; ``search``: an ordered text search in the true one."""
    search: tuple[SearchRule, ...]
    """For ``search``: the first that applies counts."""
    negations: tuple[Regex, ...]
    """What counts as a negation; with none, sentences are not checked for them."""
    harmless: tuple[Regex, ...]
    """Words that hold such a string and negate nothing."""


class NegateTriple(Map):
    """A false statement of a triple: its relation's negated sentence, with the answer where the template puts it."""

    kind = "negate_triple"
    version = 2
    spec_class = NegateTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact[Triple], mode="parent")}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "unknown_relation": "The relation table has no row that serves this relation and its ends.",
        "needs_model": "No rule can do it and the model is `none`.",
        "same_as_true": "The result equals the true statement.",
        "not_one_negation_more": "The result does not hold exactly one negation more than the true statement.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """None; RecipeError with every fault of the relation tables."""
        RelationTables.read({name: ref.file for name, ref in self.spec.relations.items()})
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the relation tables; RecipeError with the line of each fault."""
        spec: NegateTripleSpec = self.spec
        self._tables = RelationTables.read({name: ref.file for name, ref in spec.relations.items()})

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch a statement."""
        true: Statement = row
        fact: Fact[Triple] = parents["fact"]
        made = self._negate_by_search(true) if self.spec.method == "search" else self._negate_by_table(fact)
        if isinstance(made, Dropped):
            return [made]
        text, answer, rule = made
        if text == true.text:
            return [Dropped("same_as_true", text)]
        spec: NegateTripleSpec = self.spec
        if spec.negations and self._count_negations(text, fact) != self._count_negations(true.text, fact) + 1:
            return [Dropped("not_one_negation_more", text)]
        checks = ["differs_from_true", *(["one_negation_more"] if spec.negations else [])]
        if answer is not None:
            checks.append("answer_untouched")
        false = Statement.child(
            true,
            produced_by=self.produced_by(rule),
            polarity="false",
            text=text,
            joined="negation",
            answer=answer,
            context=true.context,
            fact=true.fact,
            checks=tuple(checks),
        )
        return [Kept(false)]

    def _count_negations(self, text: str, fact: Fact[Triple]) -> int:
        """Negations outside the ends and the relation of the triple."""
        triple = fact.payload
        for name in sorted((triple.head, triple.tail, triple.relation), key=len, reverse=True):
            text = text.replace(name, "\0")
        return count_negations(text, self.spec.negations, self.spec.harmless)

    def _negate_by_table(self, fact: Fact[Triple]) -> tuple[str, Span | None, str] | Dropped:
        triple = fact.payload
        entry = self._tables.find(fact.partition, triple.relation, triple.head, triple.tail)
        if entry is None:
            return Dropped("unknown_relation", triple.relation)
        text, spans = fill_template(
            entry.negated, {"head": triple.head, "tail": triple.tail, "relation": triple.relation}
        )
        return text, spans[entry.answer_end], f"template:{entry.relation}"

    def _negate_by_search(self, true: Statement) -> tuple[str, Span | None, str] | Dropped:
        edit = search_negation(true.text, self.spec.search)
        if edit is None:
            return Dropped("needs_model", true.text)
        span, new = edit
        return replace_span(true.text, span, new), shift_span(true.answer, span, len(new)), "search"
