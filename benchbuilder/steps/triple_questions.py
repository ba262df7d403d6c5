"""Asks questions about triples with the templates of their relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pyarrow as pa
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
    comparison_key,
    fill_template,
    template_faults,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.language.known_triples import (
    EMPTY_TRIPLES,
    load_triples,
    save_triples,
    triple_columns,
    triple_edges,
)
from benchbuilder.steps.language.questions import is_one_sentence, leaks_answer, open_question
from benchbuilder.steps.language.relations import (
    UNKNOWN_RELATION,
    RelationStep,
    RelationStepSpec,
    fill_relation,
    question_issues,
)
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
    """Which statements are asked about, as in `ask_tf`. With ``family`` or ``every``, all have `false_form` or
    `affirmed_form`."""
    true_form: Annotated[str, AfterValidator(_check_form)] | None
    """The form of the one question of a fact about its true statement; ``null``: the relation's own question."""
    false_form: Annotated[str, AfterValidator(_check_form)]
    """The form of every other question, over ``{statement}`` without its stop."""
    affirmed_form: Annotated[str, AfterValidator(_check_form)] | None = None
    """With ``family`` or ``every``, the form of questions about statements that are not negated; ``null``:
    `false_form`. All statements of a family are negated or none is, so it tells no verdict."""
    stop: str
    """The final stop that a statement loses in a question."""


class AskTfTriple(RelationStep):
    """True/false questions about the statements of triples that `polarity` chooses, in the same form for all.

    Where a fact has one question, that about its true statement may be the relation's own.
    """

    kind = "ask_tf_triple"
    spec_class = AskTfTripleSpec
    version = 4
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
        issues = (*super().validate_inputs(rows), *missing_statements(self.spec.polarity, rows))
        own = self.spec.true_form is None and self.spec.polarity in ONE_OF_FACT
        return (*issues, *(question_issues(self._read_tables(), "tf", self.spec.mark, self.spec.ends) if own else ()))

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
        is_affirmed = spec.affirmed_form is not None and not statement.negated and spec.polarity not in ONE_OF_FACT
        rule = "true_form" if is_plain else "affirmed_form" if is_affirmed else "false_form"
        form: str | None = getattr(spec, rule)
        if form is not None:
            text = fill_template(form, {"statement": bare})[0]
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
    inverse_suffix: str = ""
    """The suffix of relations that read from tail to head (empty: none): X and X with the suffix are one relation."""
    synonyms: tuple[str, ...] = ()
    """Relations that state synonyms. Both ends of such a triple are names of one concept."""


class AskOeTriple(RelationStep):
    """One open-ended question per true statement, by the relation's template, if enabled.

    With the port ``known``, the concept of a question has one known end in the relation: the answer, by any synonym.
    With the port ``statements``, its fact has a false statement there, which makes the wrong answer.
    """

    kind = "ask_oe_triple"
    spec_class = AskOeTripleSpec
    version = 2
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Triple], mode="parent"),
        "known": Port(Fact[Triple], mode="lookup", optional=True),
        "statements": Port(Statement, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Question
    reasons: ClassVar[Mapping[str, str]] = {
        "switched_off": "The recipe asks no open-ended questions about triples.",
        "false_statement": "Open-ended questions are asked about true statements only.",
        "no_counterpart": "No false statement of the fact could be the wrong answer.",
        **UNKNOWN_RELATION,
        "several_answers": "The concept has another known end in the relation.",
        "no_template": "The relation has no open-ended question.",
        "not_one_question": "The result is not one sentence that ends in the question mark.",
        "leaks_answer": "The question contains the answer.",
    }

    _near: str = ""

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Sentences that are no question; RecipeError for faults of relation tables."""
        issues, spec = super().validate_inputs(rows), self.spec
        return (*issues, *(question_issues(self._read_tables(), "oe", spec.mark, spec.ends) if spec.enabled else ()))

    def prepare(self, lookups: Mapping[str, Table[Any]]) -> tuple[Path, ...]:
        """Find, once for all workers, the known triples of the facts that have a false statement."""
        if not self.spec.enabled or not {"known", "statements"} <= lookups.keys():
            return ()
        known, ignore = lookups["known"], self.spec.ignore
        wanted = set(lookups["statements"].column("fact"))
        facts = known.find(wanted)
        if len(facts) < len(wanted):
            return ()  # facts that are not known as they are: all known triples are needed
        keys = {name for piece in triple_columns(facts) for heads, _, tails in triple_edges(piece, ignore)
                for name in heads | tails}  # fmt: skip
        near = KnownGraph.around([known], keys, self._rule()).triples
        path = save_triples(near, self.context.cache, self.context.step)
        self._near = path.name
        return (path,)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the relation tables, the known triples and the facts with a false statement."""
        super().open(lookups)
        self._graph: KnownGraph | None = None
        self._falsified: frozenset[str] | None = None
        if not self.spec.enabled:
            return
        if "statements" in lookups:
            statements = lookups["statements"]
            pairs = zip(statements.column("fact"), statements.column("polarity"), strict=True)
            self._falsified = frozenset(fact for fact, polarity in pairs if polarity == "false")
        if self._near:
            self._graph = KnownGraph(load_triples(self.context.cache / self._near), self._rule())
        elif "known" in lookups:
            pieces = [EMPTY_TRIPLES, *triple_columns(lookups["known"])]
            self._graph = KnownGraph(pa.concat_tables(pieces), self._rule())

    def _rule(self) -> KnownRule:
        return KnownRule(self.spec.ignore, self.spec.inverse_suffix, frozenset(self.spec.synonyms))

    def _other_end(self, triple: Triple, answer_end: str) -> str | None:
        """A known triple with another end of the concept in the relation, or ``None``."""
        if self._graph is None:
            return None
        concept, answer = (triple.head, triple.tail) if answer_end == "tail" else (triple.tail, triple.head)
        concept, answer = (comparison_key(name, self.spec.ignore) for name in (concept, answer))
        side = Side.of(triple.relation, answer_end, self.spec.inverse_suffix)
        answers = self._graph.synonyms(answer)
        others = [number for name, number in self._graph.ends(concept, side).items() if name not in answers]
        return self._graph.edge_text(min(others)) if others else None

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        statement: Statement = row
        spec: AskOeTripleSpec = self.spec
        if not spec.enabled:
            return [NotApplicable("switched_off")]
        if statement.polarity != "true":
            return [NotApplicable("false_statement")]
        if self._falsified is not None and statement.fact not in self._falsified:
            return [Dropped("no_counterpart", statement.text)]
        fact: Fact[Triple] = parents["fact"]
        triple = fact.payload
        entry = self.find_row(fact.partition, triple)
        if isinstance(entry, Dropped):
            return [entry]
        if not entry.oe:
            return [Dropped("no_template", triple.relation)]
        if (other := self._other_end(triple, entry.answer_end)) is not None:
            return [Dropped("several_answers", other)]
        text, _ = fill_relation(entry.oe, triple)
        if not is_one_sentence(text, spec.mark, spec.ends):
            return [Dropped("not_one_question", text)]
        if leaks_answer(triple.head if entry.answer_end == "head" else triple.tail, text, spec.ignore, spec.matching):
            return [Dropped("leaks_answer", text)]
        produced_by = self.produced_by(f"template:{entry.relation}")
        return [Kept(open_question(statement, produced_by, text, ("one_question", "no_leak")))]
