"""Pages of annotators: the task and its actions, the list of tasks, and the end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from benchbuilder.annotation.app.forms import (
    NOTE_FIELD,
    TaskForm,
    active_seconds,
    make_task_form,
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
    progress_context,
    task_count,
    with_draft_header,
)
from benchbuilder.annotation.app.rendering import html_timestamp
from benchbuilder.annotation.app.sessions import Visit, redirect, require_visit
from benchbuilder.annotation.database.models import Assignment, DraftOutcome, OvertakenError, Project, Submission
from benchbuilder.annotation.database.page_state import answer_texts
from benchbuilder.web import PostedForm, posted_form

router = APIRouter(prefix="/p")

PAGE_SIZE = 50
_ACTIONS = ("submit", "draft", "skip", "flag", "unflag")
_STATES = ("open", "done", "skipped")
_NUMBER = re.compile(r"[1-9][0-9]{0,7}", re.ASCII)


def _assignment(visit: Visit, project: str, number: str, *, opening: bool) -> Assignment | None:
    if not _NUMBER.fullmatch(number):
        return None
    return visit.store.assignment(visit.person, project, int(number), opening=opening)


def _query_number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else 0


@router.get("/{project}")
def project_page(request: Request, project: str) -> Response:
    """Redirect to the next task; if none is open, thank the visitor and list skipped tasks."""
    visit = require_visit(request, "annotator")
    work = find_project(visit, project)
    progress = visit.store.progress(visit.person, project)
    if not task_count(progress):
        raise HTTPException(404)
    number = visit.store.next_number(visit.person, project) if progress.open else None
    if number is not None:
        return redirect(f"/p/{project}/{number}")
    return visit.page(
        "finished.j2",
        project=work,
        pace=progress_context(visit.texts, work, progress),
        skipped=visit.store.list_assignments(visit.person, project, state="skipped", count=PAGE_SIZE),
        saved=_query_number(request, "saved"),
        last=visit.store.last_submission(visit.person, project),
    )


@router.get("/{project}/list")
def list_page(request: Request, project: str) -> Response:
    """The visitor's tasks with their states, filtered by ``state``, from number ``start`` on."""
    visit = require_visit(request, "annotator")
    work = find_project(visit, project)
    state = request.query_params.get("state", "")
    state = state if state in _STATES else ""
    start = _query_number(request, "start") or 1
    rows = visit.store.list_assignments(visit.person, project, state=state, start=start, count=PAGE_SIZE + 1)
    progress = visit.store.progress(visit.person, project)
    return visit.page(
        "list.j2",
        project=work,
        pace=progress_context(visit.texts, work, progress),
        rows=rows[:PAGE_SIZE],
        state=state,
        states=_STATES,
        start=start,
        earlier=max(1, start - PAGE_SIZE),
        later=rows[PAGE_SIZE].number if len(rows) > PAGE_SIZE else 0,
        nothing=_query_number(request, "nothing"),
    )


@router.post("/{project}/undo")
def undo_submission(request: Request, project: str, form: Annotated[PostedForm, Depends(posted_form)]) -> Response:
    """Withdraw the visitor's last submission, and open its task; 409 if the page showed another one as the last."""
    visit = require_visit(request, "annotator", form=form)
    work = find_project(visit, project)
    try:
        number = visit.store.undo_last(visit.person, project, form("last"))
    except OvertakenError:
        return _conflict_response(visit, work, "last", "kept")
    return redirect(f"/p/{project}" if number is None else f"/p/{project}/{number}?undone=1")


@router.get("/{project}/{number}")
def task_page(request: Request, project: str, number: str) -> Response:
    """A task with its questions, filled with the visitor's draft or else their submission."""
    visit = require_visit(request, "annotator")
    work = find_project(visit, project)
    task = _assignment(visit, project, number, opening=True)
    if task is None:
        raise HTTPException(404)
    texts = task.draft.data if task.draft is not None else answer_texts(task.answers, task.note)
    return _task_response(visit, work, task, texts)


@router.post("/{project}/{number}")
def submit_task(
    request: Request, project: str, number: str, form: Annotated[PostedForm, Depends(posted_form)]
) -> Response:
    """Submit, skip or flag a task, or save a draft; 409 if the number is not that of the task on the page now."""
    visit = require_visit(request, "annotator", form=form)
    work = find_project(visit, project)
    action = form("action")
    if action not in _ACTIONS:
        raise HTTPException(400)
    task = _assignment(visit, project, number, opening=False)
    if task is None or form("task") != task.task.key:
        return _moved_response(visit, work, form, known=task is not None)
    if action == "submit":
        return _submit_answers(visit, work, task, form)
    draft = _save_draft(visit, task.task_id, form)
    if draft == "overtaken":
        return _overtaken_response(visit, work, task.number, draft, reason="draft")
    if action == "draft":
        return draft_response(visit, f"/p/{project}/{task.number}", draft == "kept")
    if action == "skip":
        done = visit.store.skip(visit.person, task.task_id)
        path = _next_path(visit, project, task.number)
    else:
        done = visit.store.flag(visit.person, task.task_id, action == "flag", form(NOTE_FIELD))
        path = f"/p/{project}/{task.number}"
    return continue_to(visit, path) if done else _conflict_response(visit, work, "retired", draft)


def _moved_response(visit: Visit, project: Project, form: PostedForm, *, known: bool) -> Response:
    """The number now belongs to another task: save the entered values as a draft of the task that was shown.

    404 if that task was never the visitor's and they have no task with this number (`known`).
    """
    key = form("task")
    own = visit.store.find_own_task(visit.person, project.name, key) if 0 < len(key) <= 200 else None
    if own is None and not known:
        raise HTTPException(404)
    draft = "foreign" if own is None else _save_draft(visit, own[0], form)
    return _conflict_response(visit, project, "moved" if own is None or own[1] else "retired", draft)


def _conflict_response(
    visit: Visit, project: Project, reason: str, draft: DraftOutcome, number: int = 0,
    standing: Sequence[tuple[str, str]] = (), note: str = "",
) -> Response:  # fmt: skip
    return conflict_page(
        visit, "changed.j2", draft == "kept", project=project, how=reason, number=number, standing=standing, note=note
    )


def _overtaken_response(
    visit: Visit, project: Project, number: int, draft: DraftOutcome, *, reason: str = ""
) -> Response:
    """Something else was saved since the page was made: 409, with the answers that count now."""
    task = visit.store.assignment(visit.person, project.name, number, opening=False)
    if task is None:
        return _conflict_response(visit, project, "retired", draft)
    sheet = make_task_form(task.task, project.spec, answer_texts(task.answers, task.note))
    standing = standing_answers(sheet.fields(), _field_labels(sheet, visit), visit.texts)
    reason = reason or ("elsewhere" if standing else "undone")
    return _conflict_response(visit, project, reason, draft, number, standing, task.note)


def _save_draft(visit: Visit, task_id: int, form: PostedForm) -> DraftOutcome:
    """Save the entered values as a draft."""
    entered = form.with_prefix("v.") | {NOTE_FIELD: form(NOTE_FIELD)}
    return visit.store.save_draft(visit.person, task_id, entered, page_state(form))


def _submit_answers(visit: Visit, project: Project, task: Assignment, form: PostedForm) -> Response:
    sheet = make_task_form(task.task, project.spec)
    if form("shown") != sheet.shown_hash:
        return _conflict_response(visit, project, "text", _save_draft(visit, task.task_id, form), task.number)
    values, errors = parse_answers(sheet.fields(), form, visit.texts)
    if not errors:
        submission = Submission(
            values, note=form(NOTE_FIELD).strip(), active_seconds=active_seconds(form), seen=page_state(form)
        )
        outcome = visit.store.submit(visit.person, task.task_id, submission)
        if outcome == "overtaken":
            return _overtaken_response(visit, project, task.number, _save_draft(visit, task.task_id, form))
        if outcome == "kept":
            return continue_to(visit, f"{_next_path(visit, project.name, task.number)}?saved={task.number}")
        if outcome in ("retired", "foreign"):
            return _conflict_response(visit, project, "retired", _save_draft(visit, task.task_id, form))
    kept, texts = _save_draft(visit, task.task_id, form) == "kept", form.with_prefix("v.", NOTE_FIELD)
    errors = errors or {"": visit.texts("error.incomplete")}
    task = visit.store.assignment(visit.person, project.name, task.number, opening=False) or task  # with that draft
    return with_draft_header(_task_response(visit, project, task, texts, errors, kept=kept), kept)


def _next_path(visit: Visit, project: str, number: int) -> str:
    """The path after a task: the next open one, else the end."""
    if not visit.store.progress(visit.person, project).open:
        return f"/p/{project}"
    following = visit.store.next_number(visit.person, project, after=number)
    return f"/p/{project}" if following is None else f"/p/{project}/{following}"


def _task_response(
    visit: Visit, project: Project, task: Assignment, texts: Mapping[str, str], errors: Mapping[str, str] | None = None,
    *, kept: bool = True,
) -> Response:  # fmt: skip
    sheet = make_task_form(task.task, project.spec, texts, errors)
    spec = project.spec
    labels = spec.display_fields()
    progress = visit.store.progress(visit.person, project.name)
    seconds_left = None if spec.suggested_seconds is None else max(0, round(spec.suggested_seconds - task.seconds))
    return visit.page(
        "task.j2",
        422 if errors else 200,
        project=project,
        task=task,
        sheet=sheet,
        fields=[(labels[name], text) for name, text in task.task.fields if name in labels and text],
        errors=error_lines(visit, _field_labels(sheet, visit), errors or {}, "task.note"),
        note=texts.get(NOTE_FIELD, ""),
        note_error=(errors or {}).get(NOTE_FIELD, ""),
        pace=progress_context(visit.texts, project, progress),
        seconds_left=seconds_left,
        wide=_needs_room(sheet),
        now=html_timestamp(visit.store.now()),
        store=browser_key(visit, project.name, task.task.key),
        base=task.version,
        last=visit.store.last_submission(visit.person, project.name),
        **draft_context(task.draft),
        kept=kept,
        drafted_at=html_timestamp(task.draft.saved_at) if task.draft is not None and not errors else "",
        saved=_query_number(visit.request, "saved"),
        undone=_query_number(visit.request, "undone"),
    )


def _needs_room(sheet: TaskForm) -> bool:
    """Whether the questions need half of a wide page: long texts, or bands without paragraphs."""
    questions = [entry.question for entry in (*sheet.before_evidence, *sheet.after_evidence)]
    long = any(question.answer == "text" and question.lines > 1 for question in questions)
    return long or (not sheet.paragraphs and any(question.anchors() for question in questions))


def _field_labels(form: TaskForm, visit: Visit) -> dict[str, str]:
    """The label of each field in the order of the page; the paragraph's number follows the label of its questions."""
    numbers = {paragraph.key: number for number, (paragraph, _) in enumerate(form.paragraphs, 1)}
    labels: dict[str, str] = {}
    for entry in form.fields():
        number, label = numbers.get(entry.subject.key), entry.question.label
        labels[entry.field_name] = visit.texts("error.nth", label=label, n=number) if number else label
    return labels
