"""An adjudicator's pages: one dispute after another, and the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from benchbuilder.annotation.app.adjudication_form import (
    CONFIDENCE,
    ERROR_KINDS,
    REASON,
    Matters,
    decided_texts,
    draft_of,
    matters_of,
    submission_of,
    texts_of,
)
from benchbuilder.annotation.app.forms import base_of
from benchbuilder.annotation.app.pages import changed, onto, told, wants_json
from benchbuilder.annotation.app.rendering import stamp
from benchbuilder.annotation.app.sessions import Form, Visit, go, posted, signed_in
from benchbuilder.annotation.database.models import Dispute, Project

router = APIRouter(prefix="/adjudicate")

_DIGITS = 12


@router.get("/{project}")
def project_page(request: Request, project: str) -> Response:
    """On to the dispute with the lowest agreement; what the visitor put off waits until they ask for it."""
    visit = signed_in(request, "adjudicator")
    work = _project(visit, project)
    progress = visit.ballots.progress(visit.person, project)
    if progress.open or request.query_params.get("again"):
        task_id = visit.ballots.next_dispute(visit.person, project)
        if task_id is not None:
            return go(f"/adjudicate/{project}/{task_id}")
    saved = bool(request.query_params.get("saved"))
    return visit.page("adjudicate_done.j2", project=work, progress=progress, saved=saved)


@router.post("/{project}/undo")
def undo(request: Request, project: str, form: Annotated[Form, Depends(posted)]) -> Response:
    """Take back the decisions that the visitor submitted last, and open their task."""
    visit = signed_in(request, "adjudicator", form=form)
    _project(visit, project)
    task_id = visit.ballots.undo(visit.person, project)
    if task_id is None or visit.ballots.dispute(visit.person, project, task_id, opening=False) is None:
        return go(f"/adjudicate/{project}")
    return go(f"/adjudicate/{project}/{task_id}?undone=1")


@router.get("/{project}/{task_id}")
def dispute_page(request: Request, project: str, task_id: str) -> Response:
    """What is in dispute about a task, as the visitor left it."""
    visit = signed_in(request, "adjudicator")
    work = _project(visit, project)
    dispute = visit.ballots.dispute(visit.person, project, _id(task_id))
    if dispute is None:
        raise HTTPException(404)
    return _show(visit, work, dispute, texts_of(dispute))


@router.post("/{project}/{task_id}")
def decide(request: Request, project: str, task_id: str, form: Annotated[Form, Depends(posted)]) -> Response:
    """Submit decisions, put the task off, flag it, or keep a draft. 409 if the dispute is gone or another one."""
    visit = signed_in(request, "adjudicator", form=form)
    work = _project(visit, project)
    number = _id(task_id)
    action = form("action")
    if action not in ("submit", "draft", "skip", "flag", "unflag"):
        raise HTTPException(400)
    dispute = visit.ballots.dispute(visit.person, project, number)
    if dispute is None:
        return _gone(visit, work, 0, _keep(visit, number, form))
    if action == "submit":
        return _submit(visit, work, dispute, form)
    kept = _keep(visit, number, form)
    if action == "draft":
        return _drafted(visit, dispute, kept)
    if action == "skip":
        done = visit.ballots.skip(visit.person, number)
        path = _onward(visit, project, number)
    else:
        done = visit.ballots.flag(visit.person, number, action == "flag", form(REASON))
        path = f"/adjudicate/{project}/{number}"
    return onto(visit, path) if done else _gone(visit, work, 0, kept)


def _project(visit: Visit, name: str) -> Project:
    project = visit.ballots.project(name) if len(name) <= 200 else None
    if project is None:
        raise HTTPException(404)
    return project


def _id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise HTTPException(404)
    return int(text)


def _submit(visit: Visit, work: Project, dispute: Dispute, form: Form) -> Response:
    found = matters_of(dispute, work.spec, {})
    if form("shown") != found.shown:
        return _gone(visit, work, dispute.task_id, _keep(visit, dispute.task_id, form))
    submission, errors = submission_of(found, form, visit.texts)
    if not errors:
        outcome = visit.ballots.decide(visit.person, dispute.task_id, submission)
        if outcome == "kept":
            path = _onward(visit, work.name, dispute.task_id, saved=True)
            return onto(visit, path)
        if outcome in ("retired", "foreign"):
            return _gone(visit, work, 0, _keep(visit, dispute.task_id, form))
        reasonless = outcome == "reasonless"
        field, key = (REASON, "adjudicate.reasonless") if reasonless else ("", "error.incomplete")
        errors = {field: visit.texts(key)}
    kept = _keep(visit, dispute.task_id, form)
    return told(_show(visit, work, dispute, draft_of(form), errors, kept=kept), kept)


def _keep(visit: Visit, task_id: int, form: Form) -> bool:
    """Save what was entered as a draft; whether it could be."""
    return visit.ballots.save_draft(visit.person, task_id, draft_of(form))


def _drafted(visit: Visit, dispute: Dispute, kept: bool) -> Response:
    if wants_json(visit.request):
        return JSONResponse({"state": "saved" if kept else "too_big"}, 200 if kept else 413)
    if not kept:
        raise HTTPException(413)
    return go(f"/adjudicate/{dispute.project}/{dispute.task_id}")


def _gone(visit: Visit, work: Project, task_id: int, kept: bool) -> Response:
    """The dispute is not what the visitor saw: they can look at it again, or if it is 0, it is no more."""
    return changed(visit, "adjudicate_changed.j2", kept, project=work, task_id=task_id)


def _onward(visit: Visit, project: str, task_id: int, *, saved: bool = False) -> str:
    """Where to go from a dispute that was dealt with: the next one that waits, else the end."""
    following = None
    if visit.ballots.progress(visit.person, project).open:
        following = visit.ballots.next_dispute(visit.person, project, frozenset({task_id}))
    path = f"/adjudicate/{project}" if following is None else f"/adjudicate/{project}/{following}"
    return f"{path}?saved=1" if saved else path


def _show(
    visit: Visit, work: Project, dispute: Dispute, texts: Mapping[str, str], errors: Mapping[str, str] | None = None,
    *, kept: bool = True,
) -> Response:  # fmt: skip
    found = matters_of(dispute, work.spec, texts, errors)
    labels = work.spec.shown()
    return visit.page(
        "adjudicate.j2",
        422 if errors else 200,
        project=work,
        dispute=dispute,
        found=found,
        fields=[(labels[name], text) for name, text in dispute.task.fields if name in labels and text],
        notes=[(number, note) for number, note in enumerate(dispute.notes, start=1) if note],
        texts=texts,
        ticked=set(texts.get("error_kinds", "").split(",")),
        kinds=ERROR_KINDS,
        levels=CONFIDENCE,
        reason_error=(errors or {}).get(REASON, ""),
        complaints=_complaints(found, errors or {}, visit),
        places={paragraph.key: place for place, paragraph in enumerate(dispute.task.paragraphs, start=1)},
        now=stamp(datetime.now(UTC)),
        store=_store_key(visit, work, dispute),
        base=base_of(decided_texts(dispute)),
        kept=kept,
        drafted_at=stamp(dispute.draft.saved_at) if dispute.draft is not None and not errors else "",
        saved=bool(visit.request.query_params.get("saved")),
        undone=bool(visit.request.query_params.get("undone")),
    )


def _complaints(found: Matters, errors: Mapping[str, str], visit: Visit) -> list[tuple[str, str, str]]:
    """Field, label and what is wrong, in the order of the page."""
    entries = [point.entry for point in found.points() if point.entry.field in errors]
    told = [(entry.field, entry.question.label, errors[entry.field]) for entry in entries]
    if REASON in errors:
        told.append((REASON, visit.texts("adjudicate.reason"), errors[REASON]))
    return told + [("", "", text) for field, text in errors.items() if not field]


def _store_key(visit: Visit, work: Project, dispute: Dispute) -> str:
    """The name under which a browser keeps what it could not send: nobody else's page asks for it."""
    person = visit.person
    parts = ("adjudicate", work.name, dispute.task.key, person.code, person.name, person.invited_at.isoformat())
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
