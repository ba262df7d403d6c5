"""Assembles each question with its right and its wrong answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import StepSpec
from benchbuilder.core import Candidate, Dropped, GatherResult, Kept, Outcome, Question, Row, Statement, Table
from benchbuilder.steps.base import Gather, Port

FalseStatementSort = Literal["negated", "replaced"]


class AssembleSpec(StepSpec):
    """Which false statement is the wrong answer: the first sort that the fact has."""

    wrong_oe: tuple[FalseStatementSort, ...]
    """For open-ended questions."""
    wrong_tf: tuple[FalseStatementSort, ...]
    """For true/false questions; one about a replaced statement uses that statement."""


class Assemble(Gather):
    """Candidates: the right answer is the true statement of the question's fact, the wrong one a false statement.

    Both answers are affirmed if the wrong one is a replaced statement, even where the question negates. So no answer
    is right because of its form. All questions about a fact belong to the family that any of its statements names.

    A true/false question about a `denied` statement has that statement and its denial instead. There, the statements of
    a fact are independent claims, and none of them answers a question about another. Statements that no candidate uses
    are listed as unused.
    """

    kind = "assemble"
    version = 2
    spec_class = AssembleSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Question),
        "stated": Port(Statement, mode="whole"),
        "negated": Port(Statement, mode="whole"),
        "replaced": Port(Statement, mode="whole"),
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
    }

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """The outcome of each question, and the statements that no candidate uses."""
        statements: dict[str, dict[str, list[Statement]]] = {}
        self._families: dict[str, str] = {}
        for port in ("stated", "negated", "replaced"):
            by_fact = statements.setdefault(port, {})
            for statement in tables[port]:
                by_fact.setdefault(statement.fact, []).append(statement)
                if statement.family:
                    self._families[statement.fact] = statement.family
        denials = {denial.of: denial for denial in tables["denied"]} if "denied" in tables else {}
        by_id = {row.id: row for by_fact in statements.values() for rows in by_fact.values() for row in rows}
        for denial in denials.values():
            statements.setdefault("denied", {}).setdefault(denial.fact, []).append(denial)
        outcomes: list[tuple[str, list[Outcome]]] = []
        questioned, used, answered = set[str](), set[str](), set[str]()
        for question in tables["each"]:
            denial, claim = denials.get(question.of), by_id.get(question.of)
            if question.type == "tf" and denial is not None and claim is not None:
                right, wrong = (claim, denial) if question.expected == "yes" else (denial, claim)
                outcome: Outcome = self._build_candidate(question, right, wrong)
            else:
                outcome = self._assemble_question(question, statements)
            outcomes.append((question.id, [outcome]))
            questioned.add(question.fact)
            if isinstance(outcome, Kept):
                used.update(outcome.row.parents)
                answered.add(question.fact)
        unused = {
            port: {
                statement.id: _why_unused(statement.fact, questioned, answered)
                for rows in by_fact.values()
                for statement in rows
                if statement.id not in used
            }
            for port, by_fact in statements.items()
        }
        return GatherResult(outcomes=outcomes, unused=unused)

    def _assemble_question(
        self, question: Question, statements: Mapping[str, Mapping[str, list[Statement]]]
    ) -> Outcome:
        right = next(iter(statements["stated"].get(question.fact, ())), None)
        if right is None:
            return Dropped("no_right_answer", question.text)
        wrong = self._wrong_statement(question, statements)
        if wrong is None:
            return Dropped("no_wrong_answer", question.text)
        return self._build_candidate(question, right, wrong)

    def _build_candidate(self, question: Question, right: Statement, wrong: Statement) -> Outcome:
        if wrong.text == right.text:
            return Dropped("same_answers", right.text)
        candidate = Candidate.child(
            question, right, wrong, produced_by=self.produced_by(wrong.joined), type=question.type,
            expected=question.expected, context=question.context, question=question.text, answer=right.text,
            answer_wrong=wrong.text, fact=question.fact,
            family=question.family or self._families.get(question.fact, question.fact), negated=question.negated,
            checks=tuple(dict.fromkeys((*question.checks, *right.checks, *wrong.checks))), form=question.form,
            asked=question.asked, wrong_from=wrong.wrong_from, verdict_only=right.joined == "verdict",
        )  # fmt: skip
        return Kept(candidate)

    def _wrong_statement(
        self, question: Question, statements: Mapping[str, Mapping[str, list[Statement]]]
    ) -> Statement | None:
        replaced = statements["replaced"].get(question.fact, ())
        asked = next((row for row in replaced if row.id == question.of and question.expected == "no"), None)
        if asked is not None:
            return asked
        order: tuple[FalseStatementSort, ...] = self.spec.wrong_oe if question.type == "oe" else self.spec.wrong_tf
        rows = (row for sort in order for row in statements[sort].get(question.fact, ()))
        return next((row for row in rows if row.polarity == "false"), None)


def _why_unused(fact: str, asked_facts: set[str], answered_facts: set[str]) -> str:
    if fact not in asked_facts:
        return "no_question"
    return "not_chosen" if fact in answered_facts else "no_candidate"
