"""An annotator's pages: the task, what may be done with it, the list, and the end."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from benchbuilder.annotation.app.forms import NOTE, Sheet, active_seconds, base_of, checked, sheet_of, texts_of
from benchbuilder.annotation.app.pages import all_of, changed, onto, pace, told, wants_json
from benchbuilder.annotation.app.rendering import stamp
from benchbuilder.annotation.app.sessions import Form, Visit, go, posted, signed_in
from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database.models import Assignment, Project, Submission

router = APIRouter(prefix="/p")

PAGE = 50
_ACTIONS = ("submit", "draft", "skip", "flag", "unflag")
_STATES = ("open", "done", "skipped")
_NUMBER = re.compile(r"[1-9][0-9]{0,7}", re.ASCII)


def _project(visit: Visit, name: str) -> Project:
    project = visit.ballots.project(name) if len(name) <= 200 else None
    if project is None:
        raise HTTPException(404)
    return project


def _assignment(visit: Visit, project: str, number: str, *, opening: bool) -> Assignment | None:
    found = _NUMBER.fullmatch(number)
    return visit.ballots.assignment(visit.person, project, int(number), opening=opening) if found else None


def _counted(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else 0


@router.get("/{project}")
def project_page(request: Request, project: str) -> Response:
    """On to the next task; if none is open any more, thanks and what was skipped."""
    visit = signed_in(request, "annotator")
    work = _project(visit, project)
    progress = visit.ballots.progress(visit.person, project)
    if not all_of(progress):
        raise HTTPException(404)
    number = visit.ballots.next(visit.person, project) if progress.open else None
    if number is not None:
        return go(f"/p/{project}/{number}")
    skipped = visit.ballots.listing(visit.person, project, state="skipped", count=PAGE) if progress.skipped else []
    return visit.page(
        "finished.j2",
        project=work,
        pace=pace(visit.texts, work, progress),
        skipped=skipped,
        saved=_counted(request, "saved"),
    )


@router.get("/{project}/list")
def list_page(request: Request, project: str) -> Response:
    """The visitor's tasks with their states; `state` chooses, `start` is the first number."""
    visit = signed_in(request, "annotator")
    work = _project(visit, project)
    state = request.query_params.get("state", "")
    state = state if state in _STATES else ""
    start = _counted(request, "start") or 1
    rows = visit.ballots.listing(visit.person, project, state=state, start=start, count=PAGE + 1)
    progress = visit.ballots.progress(visit.person, project)
    return visit.page(
        "list.j2",
        project=work,
        pace=pace(visit.texts, work, progress),
        rows=rows[:PAGE],
        state=state,
        states=_STATES,
        start=start,
        earlier=max(1, start - PAGE),
        later=rows[PAGE].number if len(rows) > PAGE else 0,
        nothing=_counted(request, "nothing"),
    )


@router.post("/{project}/undo")
def undo(request: Request, project: str, form: Annotated[Form, Depends(posted)]) -> Response:
    """Take back the last task that the visitor submitted, and open it."""
    visit = signed_in(request, "annotator", form=form)
    _project(visit, project)
    number = visit.ballots.undo(visit.person, project)
    return go(f"/p/{project}" if number is None else f"/p/{project}/{number}?undone=1")


@router.get("/{project}/{number}")
def task_page(request: Request, project: str, number: str) -> Response:
    """A task with its questions, as the visitor left it: their draft, else what they submitted."""
    visit = signed_in(request, "annotator")
    work = _project(visit, project)
    task = _assignment(visit, project, number, opening=True)
    if task is None:
        raise HTTPException(404)
    texts = task.draft.data if task.draft is not None else texts_of(task.answers, task.note)
    return _show(visit, work, task, texts)


@router.post("/{project}/{number}")
def answer(request: Request, project: str, number: str, form: Annotated[Form, Depends(posted)]) -> Response:
    """Submit a task, skip it, flag it, or keep a draft; whatever it is, nothing that was entered is lost.

    Numbers may stand for other tasks than before: just the task that the page showed is touched, else 409.
    """
    visit = signed_in(request, "annotator", form=form)
    work = _project(visit, project)
    action = form("action")
    if action not in _ACTIONS:
        raise HTTPException(400)
    task = _assignment(visit, project, number, opening=False)
    if task is None or form("task") != task.task.key:
        return _elsewhere(visit, work, form, known=task is not None)
    if action == "submit":
        return _submit(visit, work, task, form)
    kept = _keep(visit, task.task_id, form)
    if action == "draft":
        return _drafted(visit, task, kept)
    if action == "skip":
        done = visit.ballots.skip(visit.person, task.task_id)
        path = _onward(visit, project, task.number)
    else:
        done = visit.ballots.flag(visit.person, task.task_id, action == "flag", form(NOTE))
        path = f"/p/{project}/{task.number}"
    return onto(visit, path) if done else _changed(visit, work, "retired", kept)


def _elsewhere(visit: Visit, work: Project, form: Form, *, known: bool) -> Response:
    """The task that the page showed is not the one of this number any more: what was entered goes into its draft.

    404 if it never was the visitor's, and they have none of this number (`known`) either.
    """
    key = form("task")
    own = visit.ballots.own(visit.person, work.name, key) if 0 < len(key) <= 200 else None
    if own is None and not known:
        raise HTTPException(404)
    kept = own is not None and _keep(visit, own[0], form)
    return _changed(visit, work, "moved" if own is None or own[1] else "retired", kept)


def _changed(visit: Visit, work: Project, how: str, kept: bool, number: int = 0) -> Response:
    return changed(visit, "changed.j2", kept, project=work, how=how, number=number)


def _keep(visit: Visit, task_id: int, form: Form) -> bool:
    """Save what was entered as a draft; whether it could be."""
    return visit.ballots.save_draft(visit.person, task_id, form.starting("v.") | {NOTE: form(NOTE)})


def _drafted(visit: Visit, task: Assignment, kept: bool) -> Response:
    if wants_json(visit.request):
        return JSONResponse({"state": "saved" if kept else "too_big"}, 200 if kept else 413)
    if not kept:
        raise HTTPException(413)
    return go(f"/p/{task.project}/{task.number}")


def _submit(visit: Visit, work: Project, task: Assignment, form: Form) -> Response:
    sheet = sheet_of(task.task, work.spec)
    if form("shown") != sheet.shown:
        return _changed(visit, work, "text", _keep(visit, task.task_id, form), task.number)
    values, errors = checked(sheet.entries(), form, visit.texts)
    if not errors and _overtaken(task, form, values):
        return _changed(visit, work, "elsewhere", _keep(visit, task.task_id, form), task.number)
    if not errors:
        submission = Submission(values, note=form(NOTE).strip(), active_seconds=active_seconds(form))
        outcome = visit.ballots.submit(visit.person, task.task_id, submission)
        if outcome == "kept":
            return onto(visit, f"{_onward(visit, work.name, task.number)}?saved={task.number}")
        if outcome in ("retired", "foreign"):
            return _changed(visit, work, "retired", _keep(visit, task.task_id, form))
    kept = _keep(visit, task.task_id, form)
    errors = errors or {"": visit.texts("error.incomplete")}
    return told(_show(visit, work, task, form.starting("v.", NOTE), errors, kept=kept), kept)


def _overtaken(task: Assignment, form: Form, values: Mapping[Subject, Value]) -> bool:
    """Whether something else was submitted since the page was made, in another tab or on another device."""
    seen = form("base")
    return bool(seen) and seen != base_of(texts_of(task.answers, task.note)) and values != task.answers


def _onward(visit: Visit, project: str, number: int) -> str:
    """Where to go from a task that was dealt with: the next one that is open, else the end."""
    if not visit.ballots.progress(visit.person, project).open:
        return f"/p/{project}"
    following = visit.ballots.next(visit.person, project, after=number)
    return f"/p/{project}" if following is None else f"/p/{project}/{following}"


def _show(
    visit: Visit, work: Project, task: Assignment, texts: Mapping[str, str], errors: Mapping[str, str] | None = None,
    *, kept: bool = True,
) -> Response:  # fmt: skip
    sheet = sheet_of(task.task, work.spec).filled(texts, errors)
    spec = work.spec
    labels = spec.shown()
    progress = visit.ballots.progress(visit.person, work.name)
    left = None if spec.suggested_seconds is None else max(0, round(spec.suggested_seconds - task.seconds))
    return visit.page(
        "task.j2",
        422 if errors else 200,
        project=work,
        task=task,
        sheet=sheet,
        fields=[(labels[name], text) for name, text in task.task.fields if name in labels and text],
        complaints=_complaints(sheet, errors or {}, visit),
        note=texts.get(NOTE, ""),
        note_error=(errors or {}).get(NOTE, ""),
        pace=pace(visit.texts, work, progress),
        seconds_left=left,
        wide=_needs_room(sheet),
        now=stamp(datetime.now(UTC)),
        store=_store_key(visit, work, task),
        base=base_of(texts_of(task.answers, task.note)),
        kept=kept,
        drafted_at=stamp(task.draft.saved_at) if task.draft is not None and not errors else "",
        saved=_counted(visit.request, "saved"),
        undone=_counted(visit.request, "undone"),
    )


def _needs_room(sheet: Sheet) -> bool:
    """Whether the questions need half of a wide page: long texts, or bands and nothing else to look at."""
    questions = [entry.question for entry in (*sheet.before, *sheet.after)]
    long = any(question.answer == "text" and question.lines > 1 for question in questions)
    return long or (not sheet.beside and any(question.anchors() for question in questions))


def _complaints(sheet: Sheet, errors: Mapping[str, str], visit: Visit) -> list[tuple[str, str, str]]:
    """Field, label and what is wrong, in the order of the page."""
    numbers = {paragraph.key: place for place, (paragraph, _) in enumerate(sheet.beside, 1)}
    found: list[tuple[str, str, str]] = []
    for entry in sheet.entries():
        if entry.field in errors:
            place = numbers.get(entry.subject.key)
            label = entry.question.label
            label = visit.texts("error.nth", label=label, n=place) if place else label
            found.append((entry.field, label, errors[entry.field]))
    if NOTE in errors:
        found.append((NOTE, visit.texts("task.note"), errors[NOTE]))
    return found + [("", "", text) for field, text in errors.items() if not field]


def _store_key(visit: Visit, work: Project, task: Assignment) -> str:
    """The name under which a browser keeps answers that it could not send: nobody else's page asks for it."""
    person = visit.person
    parts = (work.name, task.task.key, person.code, person.name, person.invited_at.isoformat())
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
