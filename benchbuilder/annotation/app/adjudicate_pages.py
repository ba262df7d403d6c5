"""Pages of adjudicators: disputes one by one, and the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from benchbuilder.annotation.app.adjudication_form import (
    CONFIDENCE_LEVELS,
    ERROR_KINDS,
    REASON_FIELD,
    decision_texts,
    dispute_draft,
    dispute_texts,
    make_dispute_form,
    parse_decisions,
)
from benchbuilder.annotation.app.forms import page_state, standing_answers
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
from benchbuilder.annotation.database.models import Dispute, DraftOutcome, OvertakenError, Project
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
