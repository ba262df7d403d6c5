"""Assembles each question with its right and its wrong answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import Spec, StepSpec
from benchbuilder.core import (
    Candidate,
    GatherPiece,
    GatherStream,
    Question,
    Row,
    SpecIssue,
    Statement,
    Table,
    child_rows,
    combined_column,
    constant_column,
    take_rows,
)
from benchbuilder.steps.assembly.pairs import AnswerPairs
from benchbuilder.steps.assembly.statements import SORTS, Numbers, Statements, fact_codes, is_text
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.lineages import joined_ancestors, joined_lists

_WINDOW = 16_384
_compute: Any = pc
FalseStatementSort = Literal["negated", "replaced"]


FormChoices = Literal["all"] | Annotated[tuple[str | tuple[str, ...], ...], Field(min_length=1)]


class FormsByType(Spec):
    """The forms of each type of question, in order: a fact is asked in the first that it has.

    A list inside the list keeps all forms in it; ``all`` keeps every form. Another form than those named is not asked.
    """

    tf: FormChoices = "all"
    oe: FormChoices = "all"


class AssembleSpec(StepSpec):
    """Which form a fact is asked in, and which false statement is the wrong answer: the first sort that it has."""

    forms: FormsByType = FormsByType()

    wrong_oe: tuple[FalseStatementSort, ...]
    """For open-ended questions."""
    wrong_tf: tuple[FalseStatementSort, ...]
    """For true/false questions; one about a replaced statement uses that statement."""


class Assemble(Gather):
    """Candidates: the right answer is the true statement of the question's fact, the wrong one a false statement.

    A question goes with statements of the form of the statement that it asks about: an answer alone is never paired
    with a sentence. Both answers are affirmed if the wrong one is a replaced statement, even where the question
    negates. So no answer is right because of its form. All questions about a fact belong to the family that any of its
    statements names.

    A true/false question about a `denied` statement has that statement and its denial instead. There, the statements of
    a fact are independent claims, and none of them answers a question about another. Statements that no candidate uses
    are listed as unused.
    """

    kind = "assemble"
    version = 3
    spec_class = AssembleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Question),
        "stated": Port(Statement, mode="whole"),
        "negated": Port(Statement, mode="whole", optional=True),
        "replaced": Port(Statement, mode="whole", optional=True),
        "denied": Port(Statement, mode="whole", optional=True),
    }
    output: ClassVar[type[Row] | None] = Candidate
    reasons: ClassVar[Mapping[str, str]] = {
        "no_right_answer": "The fact has no true statement.",
        "no_wrong_answer": "The fact has no false statement that can be the wrong answer.",
        "same_answers": "The right and the wrong answer are the same text.",
        "no_question": "No question asks about the fact of this statement.",
        "no_candidate": "Every question about the fact of this statement was dropped.",
        "not_chosen": "The questions about the fact have another wrong answer.",
        "other_form": "The fact is asked in another form, which the recipe prefers.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """No port with false statements is wired."""
        if rows.keys().isdisjoint(("negated", "replaced", "denied")):
            yield SpecIssue("from", "no port has false statements", ", ".join(rows), ("negated", "replaced"))

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """The outcome of each question, and the statements that no candidate uses."""
        questions = tables["each"]
        ports = [port for port in (*SORTS, "denied") if port in tables]
        (asked, *stated), count = fact_codes([questions, *(tables[port] for port in ports)])
        statements = Statements(tables, dict(zip(ports, stated, strict=True)), count)
        pairs = self._pair(questions, asked, statements)
        self._choose_forms(pairs, count)
        stream = GatherStream([], notes={"forms": pairs.count_forms()})
        stream.pieces = self._pieces(questions, pairs, statements, stream, count)
        return stream

    def _pair(self, questions: Table[Any], facts: Numbers, statements: Statements) -> AnswerPairs:
        """The right and the wrong statement of each question."""
        pairs = AnswerPairs(facts)
        start = 0
        for batch in questions.batches(["of", "type", "form", "expected"]):
            found = slice(start, start := start + batch.num_rows)
            of, sort, form, expected = (combined_column(batch, name) for name in ("of", "type", "form", "expected"))
            claims, denials, no = statements.with_ids(of), statements.denials_of(of), is_text(expected, "no")
            pairs.tf[found] = is_text(sort, "tf")
            pairs.forms[found] = pairs.form_codes.of_column(form)
            pairs.statement_forms[found] = statements.forms_at(claims)
            keys = [statements.key(facts[found], pairs.statement_forms[found], true) for true in (False, True)]
            right, wrong = statements.ports["stated"].first_with(keys[1]), np.full(len(claims), -1, np.int64)
            asked_wrong = statements.with_ids(of, ("replaced",))
            fits = no & (asked_wrong >= 0) & (statements.keys_at(asked_wrong) == keys[0])
            wrong[fits] = asked_wrong[fits]
            for is_tf, order in ((True, self.spec.wrong_tf), (False, self.spec.wrong_oe)):
                for port in (statements.ports[name] for name in order if name in statements.ports):
                    open_ones = (pairs.tf[found] == is_tf) & (wrong < 0)
                    wrong[open_ones] = port.first_with(keys[0][open_ones])
            own = pairs.tf[found] & (denials >= 0) & (claims >= 0)  # a claim of its own: itself and its denial
            pairs.right[found] = np.where(own, np.where(is_text(expected, "yes"), claims, denials), right)
            pairs.wrong[found] = np.where(own, np.where(is_text(expected, "yes"), denials, claims), wrong)
        pairs.find_equal_answers(statements.rows, statements.release)
        return pairs

    def _choose_forms(self, pairs: AnswerPairs, facts: int) -> None:
        """Mark the questions in forms that the recipe prefers, by fact and type."""
        for is_tf, choices in ((True, self.spec.forms.tf), (False, self.spec.forms.oe)):
            kinds = pairs.tf == is_tf
            if choices == "all":
                pairs.chosen |= kinds
                continue
            undecided = np.ones(facts, bool)
            for choice in choices:
                codes = [pairs.form_codes.of(form) for form in ((choice,) if isinstance(choice, str) else choice)]
                group, had = kinds & np.isin(pairs.forms, codes), np.zeros(facts, bool)
                had[pairs.facts[group & pairs.complete]] = True
                pairs.chosen |= group & (had & undecided)[pairs.facts]
                undecided &= ~had

    def _pieces(
        self, questions: Table[Any], pairs: AnswerPairs, statements: Statements, stream: GatherStream, facts: int
    ) -> Iterator[GatherPiece]:
        """The questions with their candidates; then the unused statements are known."""
        for first, window in questions.windows(_WINDOW):
            places = np.arange(first, first + len(window))
            kept = pairs.complete[places] & pairs.chosen[places]
            at = places[kept]
            right, wrong = (take_rows(statements.rows, side[at]) for side in (pairs.right, pairs.wrong))
            rows = self._candidates(
                window.arrow.filter(pa.array(kept)), right, wrong, statements.families_of(pairs.facts[at])
            )
            for name in ("id", "parents"):
                ids: Any = combined_column(rows.arrow, name)
                statements.mark_used(ids.flatten() if name == "parents" else ids)
            yield GatherPiece(places, window, pairs.branches(window.arrow, places, statements.rows, rows))
        stream.unused = pairs.unused_rows(statements, facts)

    def _candidates(self, questions: pa.Table, right: pa.Table, wrong: pa.Table, families: Any) -> Table[Any]:
        """A candidate of each question with its statements, which come in the same order."""
        sides = (questions, right, wrong)
        checks, tags = (joined_lists(*(combined_column(side, name) for side in sides)) for name in ("checks", "tags"))
        kept = ("type", "expected", "context", "fact", "negated", "form", "asked")
        fields: dict[str, Any] = {name: combined_column(questions, name) for name in kept}
        own = combined_column(questions, "family")
        family = _compute.coalesce(families, fields["fact"])
        joined = combined_column(wrong, "joined")
        fields |= {
            "question": combined_column(questions, "text"), "answer": combined_column(right, "text"),
            "answer_wrong": combined_column(wrong, "text"), "checks": checks, "tags": tags,
            "family": _compute.if_else(_compute.equal(own, ""), family, own),
            "wrong_from": combined_column(wrong, "wrong_from"),
            "verdict_only": _compute.equal(combined_column(right, "joined"), "verdict"),
        }  # fmt: skip
        rules = _compute.binary_join_element_wise(constant_column(self.kind, len(joined)), joined, "/")
        return child_rows(
            Candidate, questions, self.produced_by(), constant_column("", len(joined)), fields,
            joined_ancestors(*sides), rules,
        )  # fmt: skip
