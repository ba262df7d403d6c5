"""Pages of adjudicators: disputes one by one, and the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from benchbuilder.annotation.aggregate import overrides_annotators
from benchbuilder.annotation.app.forms import (
    MAX_NOTE_CHARS,
    NOTE_FIELD,
    QuestionField,
    active_seconds,
    page_state,
    parse_answers,
    standing_answers,
)
from benchbuilder.annotation.app.pages import (
    browser_key,
    conflict_page,
    continue_to,
    draft_context,
    draft_response,
    error_lines,
    find_project,
    with_draft_header,
)
from benchbuilder.annotation.app.rendering import html_timestamp
from benchbuilder.annotation.app.sessions import Visit, redirect, require_visit
from benchbuilder.annotation.base import ShownParagraph, Value
from benchbuilder.annotation.database.models import Dispute, DraftOutcome, OvertakenError, Project, Submission
from benchbuilder.annotation.database.sanitise import form_field_name, value_as_typed
from benchbuilder.config import AnnotationSpec
from benchbuilder.core import PageTexts
from benchbuilder.web import PostedForm, posted_form

router = APIRouter(prefix="/adjudicate")

_DIGITS = 12


@router.get("/{project}")
def project_page(request: Request, project: str) -> Response:
    """Redirect to the dispute with the lowest agreement; skipped ones only on request."""
    visit = require_visit(request, "adjudicator")
    work = find_project(visit, project)
    progress = visit.store.progress(visit.person, project)
    if progress.open or request.query_params.get("again"):
        task_id = visit.store.next_dispute(visit.person, project)
        if task_id is not None:
            return redirect(f"/adjudicate/{project}/{task_id}")
    saved = bool(request.query_params.get("saved"))
    last = visit.store.last_submission(visit.person, project)
    return visit.page("adjudicate_done.j2", project=work, progress=progress, saved=saved, last=last)


@router.post("/{project}/undo")
def undo_decisions(request: Request, project: str, form: Annotated[PostedForm, Depends(posted_form)]) -> Response:
    """Withdraw the visitor's last decisions, and open their task; 409 if the page showed others as the last."""
    visit = require_visit(request, "adjudicator", form=form)
    work = find_project(visit, project)
    try:
        task_id = visit.store.undo_last(visit.person, project, form("last"))
    except OvertakenError:
        return _conflict_response(visit, work, 0, "kept", last=True)
    if task_id is None or visit.store.dispute(visit.person, project, task_id, opening=False) is None:
        return redirect(f"/adjudicate/{project}")
    return redirect(f"/adjudicate/{project}/{task_id}?undone=1")


@router.get("/{project}/{task_id}")
def dispute_page(request: Request, project: str, task_id: str) -> Response:
    """The disputed questions of a task, as the visitor left them."""
    visit = require_visit(request, "adjudicator")
    work = find_project(visit, project)
    dispute = visit.store.dispute(visit.person, project, _parse_id(task_id))
    if dispute is None:
        raise HTTPException(404)
    return _dispute_response(visit, work, dispute, dispute_texts(dispute))


@router.post("/{project}/{task_id}")
def submit_dispute(
    request: Request, project: str, task_id: str, form: Annotated[PostedForm, Depends(posted_form)]
) -> Response:
    """Submit decisions, skip or flag the task, or save a draft. 409 if the dispute is gone or has changed."""
    visit = require_visit(request, "adjudicator", form=form)
    work = find_project(visit, project)
    number = _parse_id(task_id)
    action = form("action")
    if action not in ("submit", "draft", "skip", "flag", "unflag"):
        raise HTTPException(400)
    dispute = visit.store.dispute(visit.person, project, number)
    if dispute is None:
        return _conflict_response(visit, work, 0, _save_draft(visit, number, form))
    if action == "submit":
        return _submit_decisions(visit, work, dispute, form)
    draft = _save_draft(visit, number, form)
    if draft == "overtaken":
        return _overtaken_response(visit, work, number, draft)
    if action == "draft":
        return draft_response(visit, f"/adjudicate/{project}/{number}", draft == "kept")
    if action == "skip":
        done = visit.store.skip(visit.person, number)
        path = _next_path(visit, project, number)
    else:
        done = visit.store.flag(visit.person, number, action == "flag", form(REASON_FIELD))
        path = f"/adjudicate/{project}/{number}"
    return continue_to(visit, path) if done else _conflict_response(visit, work, 0, draft)


def _parse_id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise HTTPException(404)
    return int(text)


def _submit_decisions(visit: Visit, project: Project, dispute: Dispute, form: PostedForm) -> Response:
    dispute_form = make_dispute_form(dispute, project.spec, {})
    if form("shown") != dispute_form.shown_hash:
        return _conflict_response(visit, project, dispute.task_id, _save_draft(visit, dispute.task_id, form))
    submission, errors = parse_decisions(dispute_form, form, visit.texts)
    if not errors:
        outcome = visit.store.submit_decisions(visit.person, dispute.task_id, submission)
        if outcome == "kept":
            path = _next_path(visit, project.name, dispute.task_id, saved=True)
            return continue_to(visit, path)
        if outcome == "overtaken":
            return _overtaken_response(visit, project, dispute.task_id, _save_draft(visit, dispute.task_id, form))
        if outcome in ("retired", "foreign"):
            return _conflict_response(visit, project, 0, _save_draft(visit, dispute.task_id, form))
        reasonless = outcome == "reasonless"
        field, key = (REASON_FIELD, "adjudicate.reasonless") if reasonless else ("", "error.incomplete")
        errors = {field: visit.texts(key)}
    kept = _save_draft(visit, dispute.task_id, form) == "kept"
    dispute = visit.store.dispute(visit.person, project.name, dispute.task_id, opening=False) or dispute  # with it
    return with_draft_header(_dispute_response(visit, project, dispute, dispute_draft(form), errors, kept=kept), kept)


def _save_draft(visit: Visit, task_id: int, form: PostedForm) -> DraftOutcome:
    """Save the entered values as a draft."""
    return visit.store.save_draft(visit.person, task_id, dispute_draft(form), page_state(form))


def _conflict_response(
    visit: Visit, project: Project, task_id: int, draft: DraftOutcome,
    standing: Sequence[tuple[str, str]] = (), note: str = "", *, last: bool = False,
) -> Response:  # fmt: skip
    """The dispute differs from what the visitor saw; with `task_id` 0 it is gone."""
    return conflict_page(
        visit, "adjudicate_changed.j2", draft == "kept", project=project, task_id=task_id, standing=standing, note=note,
        last=last, other_draft=draft == "overtaken",
    )  # fmt: skip


def _overtaken_response(visit: Visit, project: Project, task_id: int, draft: DraftOutcome) -> Response:
    """Something else was saved since the page was made: 409, with the decisions that count now."""
    dispute = visit.store.dispute(visit.person, project.name, task_id, opening=False)
    if dispute is None:
        return _conflict_response(visit, project, 0, draft)
    fields = [
        point.question_field for point in make_dispute_form(dispute, project.spec, decision_texts(dispute)).questions()
    ]
    standing = standing_answers(fields, {field.field_name: field.question.label for field in fields}, visit.texts)
    return _conflict_response(visit, project, task_id, draft, standing, dispute.reason)


def _next_path(visit: Visit, project: str, task_id: int, *, saved: bool = False) -> str:
    """The path after a dispute: the next one that waits, else the end."""
    following = None
    if visit.store.progress(visit.person, project).open:
        following = visit.store.next_dispute(visit.person, project, frozenset({task_id}))
    path = f"/adjudicate/{project}" if following is None else f"/adjudicate/{project}/{following}"
    return f"{path}?saved=1" if saved else path


def _dispute_response(
    visit: Visit, project: Project, dispute: Dispute, texts: Mapping[str, str], errors: Mapping[str, str] | None = None,
    *, kept: bool = True,
) -> Response:  # fmt: skip
    dispute_form = make_dispute_form(dispute, project.spec, texts, errors)
    labels = project.spec.display_fields()
    fields = [point.question_field for point in dispute_form.questions()]
    field_labels = {field.field_name: field.question.label for field in fields}
    return visit.page(
        "adjudicate.j2",
        422 if errors else 200,
        project=project,
        dispute=dispute,
        form=dispute_form,
        fields=[(labels[name], text) for name, text in dispute.task.fields if name in labels and text],
        notes=[(number, note) for number, note in enumerate(dispute.notes, start=1) if note],
        texts=texts,
        ticked=set(texts.get("error_kinds", "").split(",")),
        kinds=ERROR_KINDS,
        levels=CONFIDENCE_LEVELS,
        reason_error=(errors or {}).get(REASON_FIELD, ""),
        errors=error_lines(visit, field_labels, errors or {}, "adjudicate.reason"),
        places={paragraph.key: place for place, paragraph in enumerate(dispute.task.paragraphs, start=1)},
        now=html_timestamp(visit.store.now()),
        store=browser_key(visit, "adjudicate", project.name, dispute.task.key),
        base=dispute.version,
        last=visit.store.last_submission(visit.person, project.name),
        **draft_context(dispute.draft),
        kept=kept,
        drafted_at=html_timestamp(dispute.draft.saved_at) if dispute.draft is not None and not errors else "",
        saved=bool(visit.request.query_params.get("saved")),
        undone=bool(visit.request.query_params.get("undone")),
    )


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
