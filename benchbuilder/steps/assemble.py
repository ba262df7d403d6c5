"""Assembles each question with its right and its wrong answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import Spec, StepSpec
from benchbuilder.core import (
    STATEMENT_FORM,
    Candidate,
    Dropped,
    GatherResult,
    Kept,
    NotApplicable,
    Outcome,
    Question,
    Row,
    Statement,
    Table,
)
from benchbuilder.steps.base import Gather, Port

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
        "other_form": "The fact is asked in another form, which the recipe prefers.",
    }

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """The outcome of each question, and the statements that no candidate uses."""
        book = _Statements(tables)
        built = [(question, self._outcome(question, book)) for question in tables["each"]]
        chosen = self._chosen_forms(built)
        outcomes: list[tuple[str, list[Outcome]]] = []
        questioned, used, answered, left_out = set[str](), set[str](), set[str](), set[tuple[str, str]]()
        counts = Counter[str]()
        for question, outcome in built:
            form = book.form_of(question)
            questioned.add(question.fact)
            if isinstance(outcome, Kept) and question.form not in chosen[question.fact, question.type]:
                left_out.add((question.fact, form))
                outcomes.append((question.id, [NotApplicable("other_form")]))
                continue
            outcomes.append((question.id, [outcome]))
            if isinstance(outcome, Kept):
                used.update(outcome.row.parents)
                answered.add(question.fact)
                counts[f"{question.type} {question.form}"] += 1
        unused = {
            port: {
                row.id: _why_unused(row, questioned, answered, left_out)
                for rows in by_fact.values()
                for row in rows
                if row.id not in used
            }
            for port, by_fact in book.by_port.items()
        }
        return GatherResult(outcomes=outcomes, unused=unused, notes={"forms": dict(sorted(counts.items()))})

    def _outcome(self, question: Question, book: _Statements) -> Outcome:
        """The candidate of one question, whatever its form."""
        denial, claim = book.denials.get(question.of), book.by_id.get(question.of)
        if question.type == "tf" and denial is not None and claim is not None:
            right, wrong = (claim, denial) if question.expected == "yes" else (denial, claim)
            return self._build_candidate(question, right, wrong, book)
        right = next(iter(book.find("stated", question, "true")), None)
        if right is None:
            return Dropped("no_right_answer", question.text)
        wrong = self._wrong_statement(question, book)
        if wrong is None:
            return Dropped("no_wrong_answer", question.text)
        return self._build_candidate(question, right, wrong, book)

    def _chosen_forms(self, built: Sequence[tuple[Question, Outcome]]) -> Mapping[tuple[str, str], Collection[str]]:
        """The forms in which each fact is asked, by fact and type."""
        had: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for question, outcome in built:
            forms = had[question.fact, question.type]
            if isinstance(outcome, Kept):
                forms.add(question.form)
        return {key: self._first_of(key[1], forms) for key, forms in had.items()}

    def _first_of(self, question_type: str, had: Collection[str]) -> Collection[str]:
        choices: FormChoices = self.spec.forms.tf if question_type == "tf" else self.spec.forms.oe
        if choices == "all":
            return had
        groups = ({choice} if isinstance(choice, str) else set(choice) for choice in choices)
        return next((group for group in groups if group.intersection(had)), ())

    def _build_candidate(self, question: Question, right: Statement, wrong: Statement, book: _Statements) -> Outcome:
        if wrong.text == right.text:
            return Dropped("same_answers", right.text)
        candidate = Candidate.child(
            question, right, wrong, produced_by=self.produced_by(wrong.joined), type=question.type,
            expected=question.expected, context=question.context, question=question.text, answer=right.text,
            answer_wrong=wrong.text, fact=question.fact,
            family=question.family or book.families.get(question.fact, question.fact), negated=question.negated,
            checks=tuple(dict.fromkeys((*question.checks, *right.checks, *wrong.checks))), form=question.form,
            asked=question.asked, wrong_from=wrong.wrong_from, verdict_only=right.joined == "verdict",
            tags=tuple(dict.fromkeys((*question.tags, *right.tags, *wrong.tags))),
        )  # fmt: skip
        return Kept(candidate)

    def _wrong_statement(self, question: Question, book: _Statements) -> Statement | None:
        replaced = book.find("replaced", question, "false")
        asked = next((row for row in replaced if row.id == question.of and question.expected == "no"), None)
        if asked is not None:
            return asked
        order: tuple[FalseStatementSort, ...] = self.spec.wrong_oe if question.type == "oe" else self.spec.wrong_tf
        return next((row for sort in order for row in book.find(sort, question, "false")), None)


class _Statements:
    """The statements of each port by fact, and what is known of facts and questions by them."""

    def __init__(self, tables: Mapping[str, Table[Any]]) -> None:
        self.by_port: dict[str, dict[str, list[Statement]]] = {}
        self.families: dict[str, str] = {}
        self.by_id: dict[str, Statement] = {}
        for port in (name for name in ("stated", "negated", "replaced") if name in tables):
            by_fact = self.by_port.setdefault(port, {})
            for statement in tables[port]:
                self.by_id[statement.id] = statement
                by_fact.setdefault(statement.fact, []).append(statement)
                if statement.family:
                    self.families[statement.fact] = statement.family
        self.denials = {denial.of: denial for denial in tables["denied"]} if "denied" in tables else {}
        for denial in self.denials.values():
            self.by_port.setdefault("denied", {}).setdefault(denial.fact, []).append(denial)

    def form_of(self, question: Question) -> str:
        """The form of the statement that a question asks about."""
        asked = self.by_id.get(question.of)
        return STATEMENT_FORM if asked is None else asked.form

    def find(self, port: str, question: Question, polarity: str) -> Sequence[Statement]:
        """The statements of a port about the fact of a question, in the form that it asks about."""
        form = self.form_of(question)
        rows = self.by_port.get(port, {}).get(question.fact, ())
        return [row for row in rows if row.form == form and row.polarity == polarity]


def _why_unused(
    row: Statement, asked: Collection[str], answered: Collection[str], left_out: Collection[tuple[str, str]]
) -> str:
    if row.fact not in asked:
        return "no_question"
    if (row.fact, row.form) in left_out:
        return "other_form"
    return "not_chosen" if row.fact in answered else "no_candidate"
