"""Writes statements with templates: states and negates triples, and denies any statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Casing,
    Dropped,
    Fact,
    Kept,
    Outcome,
    Regex,
    Row,
    Span,
    Statement,
    Triple,
    fill_template,
    has_match,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.edits import (
    SearchRule,
    altered_statement,
    answer_text,
    check_statement_form,
    count_negations,
    replace_span,
    search_negation,
    shift_span,
)
from benchbuilder.steps.language.relations import UNKNOWN_RELATION, RelationStep, RelationStepSpec, fill_relation


class StateTripleSpec(RelationStepSpec):
    """How triples become statements."""


class StateTriple(RelationStep):
    """A true statement by the relation's template, which also gives the span of the answer."""

    kind = "state_triple"
    version = 3
    spec_class = StateTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Triple])}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "head_equals_tail": "Head and tail have become the same text, for instance by conversion of the script.",
        **UNKNOWN_RELATION,
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch per fact."""
        fact: Fact[Triple] = row
        triple = fact.payload
        if triple.head == triple.tail:
            return [Dropped("head_equals_tail", triple.head)]
        entry = self.find_row(fact.partition, triple)
        if isinstance(entry, Dropped):
            return [entry]
        text, spans = fill_relation(entry.statement, triple)
        statement = Statement.child(
            fact, produced_by=self.produced_by(f"template:{entry.relation}"), polarity="true", text=text,
            joined="template", answer=spans[entry.answer_end], fact=fact.id, checks=("holds_answer",),
        )  # fmt: skip
        return [Kept(statement)]


class NegateTripleSpec(RelationStepSpec):
    """How statements about triples are negated."""

    method: Literal["table", "search"]
    """``table``: the relation's own negated sentence; ``search``: an ordered text search in the true statement."""
    search: tuple[SearchRule, ...]
    """For ``search``: the first rule that applies counts."""
    negations: tuple[Regex, ...]
    """Patterns of negations; without any, negations are not checked."""
    harmless: tuple[Regex, ...]
    """Words that contain such a pattern without negating anything."""
    blocked_answers: tuple[Regex, ...] = ()
    """Patterns of answers that would make it unclear what is negated."""


class NegateTriple(RelationStep):
    """The negation of a statement about a triple: its relation's negated sentence, with the statement's own answer.

    Of a true statement it is false, of a false one true. A negation inside an end counts as well: two negations in one
    sentence are hard to read and easy to miss.
    """

    kind = "negate_triple"
    version = 4
    spec_class = NegateTripleSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement), "fact": Port(Fact[Triple], mode="parent")}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        **UNKNOWN_RELATION,
        "needs_model": "No rule applies and the model is `none`.",
        "already_negative": "An end contains a negation; a second one would be hard to read.",
        "unclear_scope": "The negation might cover only a part of the answer.",
        "same_as_true": "The result equals the true statement.",
        "not_one_negation_more": "The result does not have exactly one negation more than the true statement.",
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        before: Statement = row
        fact: Fact[Triple] = parents["fact"]
        spec: NegateTripleSpec = self.spec
        ends = (fact.payload.head, fact.payload.tail, answer_text(before))
        if any(count_negations(end, spec.negations, spec.harmless) for end in ends):
            return [Dropped("already_negative", before.text)]
        if any(has_match(pattern, answer_text(before)) for pattern in spec.blocked_answers):
            return [Dropped("unclear_scope", before.text)]
        negated = self._negate_by_search(before) if spec.method == "search" else self._negate_by_table(before, fact)
        if isinstance(negated, Dropped):
            return [negated]
        text, answer, rule = negated
        if text == before.text:
            return [Dropped("same_as_true", text)]
        before_count, count = (
            self._count_negations(each, (*ends, fact.payload.relation)) for each in (before.text, text)
        )
        if spec.negations and count != before_count + 1:
            return [Dropped("not_one_negation_more", text)]
        checks = ["differs_from_true", *(["one_negation_more"] if spec.negations else [])]
        if answer is not None:
            checks.append("answer_untouched")
        return [Kept(altered_statement(before, self.produced_by(rule), text, "negation", checks, answer))]

    def _count_negations(self, text: str, names: Iterable[str]) -> int:
        """Negations outside the `names` of both ends, the relation and the answer."""
        for name in sorted(filter(None, names), key=len, reverse=True):
            text = text.replace(name, "\0")
        return count_negations(text, self.spec.negations, self.spec.harmless)

    def _negate_by_table(self, before: Statement, fact: Fact[Triple]) -> tuple[str, Span | None, str] | Dropped:
        entry = self.find_row(fact.partition, fact.payload)
        if isinstance(entry, Dropped):
            return entry
        triple = fact.payload
        if before.polarity == "false":
            triple = triple.model_copy(update={entry.answer_end: answer_text(before)})
        text, spans = fill_relation(entry.negated, triple)
        return text, spans[entry.answer_end], f"template:{entry.relation}"

    def _negate_by_search(self, true: Statement) -> tuple[str, Span | None, str] | Dropped:
        edit = search_negation(true.text, self.spec.search)
        if edit is None:
            return Dropped("needs_model", true.text)
        span, new = edit
        return replace_span(true.text, span, new), shift_span(true.answer, span, len(new)), "search"


class DenySpec(StepSpec):
    """The form of a denial: `form` over ``{statement}`` without its `stop`."""

    form: Annotated[str, AfterValidator(check_statement_form)]
    stop: str
    lowered: bool
    """Whether the statement loses its initial capital."""
    keep_capitals: tuple[Regex, ...] = ()
    """Patterns of beginnings that keep it nevertheless."""


class Deny(Map):
    """The denial of a statement: a false statement of a true one, a true statement of a false one.

    It does not need the position of the predicate. A negation by a rule or a model reads better, but a denial is
    correct for every statement. It gives an independent claim the one answer that contradicts it.
    """

    kind: ClassVar[str] = "deny"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = DenySpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Statement

    spec: DenySpec

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch per statement."""
        statement: Statement = row
        bare = statement.text.removesuffix(self.spec.stop)
        if self.spec.lowered:
            bare = Casing(keep=self.spec.keep_capitals).lower_first(bare)
        text, places = fill_template(self.spec.form, {"statement": bare})
        start, answer = places["statement"].start, statement.answer
        denial = Statement.child(
            statement, produced_by=self.produced_by(self.spec.form),
            polarity="false" if statement.polarity == "true" else "true", text=text, joined="negation",
            answer=None if answer is None else Span(start=start + answer.start, end=start + answer.end),
            context=statement.context, fact=statement.fact, family=statement.family, negated=not statement.negated,
            checks=("differs_from_true",),
        )  # fmt: skip
        return [Kept(denial)]
