"""The form of a dispute: the answers of the judges, the decisions, and whether a reason is required."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from benchbuilder.annotation.aggregate import overrides_annotators
from benchbuilder.annotation.app.forms import (
    MAX_NOTE_CHARS,
    NOTE_FIELD,
    QuestionField,
    active_seconds,
    page_state,
    parse_answers,
)
from benchbuilder.annotation.base import ShownParagraph, Value
from benchbuilder.annotation.database.models import Dispute, Submission
from benchbuilder.annotation.database.sanitise import form_field_name, value_as_typed
from benchbuilder.config import AnnotationSpec
from benchbuilder.core import PageTexts
from benchbuilder.web import PostedForm

ERROR_KINDS = ("ambiguous_text", "guideline_gap", "annotator_error", "edge_case", "other")
CONFIDENCE_LEVELS = ("high", "medium", "low")
REASON_FIELD = NOTE_FIELD
"""The reason uses the same field as an annotator's remark, which the script of the page handles."""


@dataclass(frozen=True)
class DisputedQuestion:
    """One question in dispute: its `question_field` in the form, and what each judge answered."""

    question_field: QuestionField
    peer_answers: tuple[Value | None, ...]


@dataclass(frozen=True)
class DisputeForm:
    """A dispute as its page shows it.

    `task_questions` are disputed questions about the task, `paragraphs` the paragraphs with disputed questions, and
    `other_paragraphs` the rest. `shown_hash` hashes all disputed subjects with their answers.
    """

    task_questions: tuple[DisputedQuestion, ...]
    paragraphs: tuple[tuple[ShownParagraph, tuple[DisputedQuestion, ...]], ...]
    other_paragraphs: tuple[ShownParagraph, ...]
    shown_hash: str

    def questions(self) -> tuple[DisputedQuestion, ...]:
        """All disputed questions in the order of the page."""
        return (*self.task_questions, *(point for _, points in self.paragraphs for point in points))


def make_dispute_form(
    dispute: Dispute, spec: AnnotationSpec, texts: Mapping[str, str], errors: Mapping[str, str] | None = None
) -> DisputeForm:
    """The form of `dispute`, filled with `texts` and `errors` by field."""
    errors, questions, steps = errors or {}, spec.questions_about(), count(1)

    def disputed(key: str) -> tuple[DisputedQuestion, ...]:
        subjects = [
            (subject, name, form_field_name(subject)) for subject, name in dispute.subjects if subject.key == key
        ]
        return tuple(
            DisputedQuestion(
                QuestionField(subject, name, questions[name], next(steps), texts.get(field, ""), errors.get(field, "")),
                dispute.peer_answers.get(subject, ()),
            )
            for subject, name, field in subjects
        )

    task_questions = disputed(dispute.task.key)
    paragraphs = [(paragraph, disputed(paragraph.key)) for paragraph in dispute.task.paragraphs]
    return DisputeForm(
        task_questions=task_questions,
        paragraphs=tuple((paragraph, asked) for paragraph, asked in paragraphs if asked),
        other_paragraphs=tuple(paragraph for paragraph, asked in paragraphs if not asked),
        shown_hash=_hash_dispute(dispute),
    )


def _hash_dispute(dispute: Dispute) -> str:
    lines = sorted(
        f"{form_field_name(subject)} {sorted(map(repr, dispute.peer_answers.get(subject, ())))}"
        for subject, _ in dispute.subjects
    )
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=12).hexdigest()


def parse_decisions(dispute_form: DisputeForm, form: PostedForm, texts: PageTexts) -> tuple[Submission, dict[str, str]]:
    """Parse an adjudicator's submission, with errors by field. Everything in dispute must be decided."""
    entries = [point.question_field for point in dispute_form.questions()]
    values, errors = parse_answers(entries, form, texts)
    for entry in entries:
        if entry.subject not in values and entry.field_name not in errors:
            errors[entry.field_name] = texts("error.missing")
    reason = form(REASON_FIELD).strip()
    against = any(
        overrides_annotators(point.question_field.question, values[point.question_field.subject], point.peer_answers)
        for point in dispute_form.questions()
        if point.question_field.subject in values
    )
    if len(reason) > MAX_NOTE_CHARS:
        errors[REASON_FIELD] = texts("error.long", n=MAX_NOTE_CHARS, found=len(reason))
    elif against and not reason:
        errors[REASON_FIELD] = texts("adjudicate.reasonless")
    submission = Submission(
        values,
        active_seconds=active_seconds(form),
        seen=page_state(form),
        reason=reason,
        error_kinds=tuple(kind for kind in ERROR_KINDS if kind in form.get_all("error_kinds")),
        guideline_gap=form("guideline_gap") == "1",
        confidence=form("confidence") if form("confidence") in CONFIDENCE_LEVELS else "",
    )
    return submission, errors


def dispute_draft(form: PostedForm) -> dict[str, str]:
    """The draft of a form, with the names that the database uses for withdrawn decisions."""
    data = form.with_prefix("v.") | {REASON_FIELD: form(REASON_FIELD), "confidence": form("confidence")}
    data["error_kinds"] = ",".join(kind for kind in ERROR_KINDS if kind in form.get_all("error_kinds"))
    data["guideline_gap"] = "1" if form("guideline_gap") == "1" else ""
    return data


def dispute_texts(dispute: Dispute) -> dict[str, str]:
    """The texts of the draft (the reason of a withdrawn decision has its own name there), else of the decision."""
    if dispute.draft is not None:
        data = dict(dispute.draft.data)
        return data | {REASON_FIELD: data.get(REASON_FIELD) or data.get("reason", "")}
    return decision_texts(dispute)


def decision_texts(dispute: Dispute) -> dict[str, str]:
    """The texts of the form for the former decision."""
    decided = {form_field_name(subject): value_as_typed(value) for subject, value in dispute.decisions.items()}
    return decided | {REASON_FIELD: dispute.reason}
