"""General pages: home, help, language, signing out, and errors."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from benchbuilder.annotation.app.forms import NOTE_FIELD
from benchbuilder.annotation.app.sessions import Visit, anonymous_visit, make_visit, redirect, require_visit
from benchbuilder.annotation.database.models import AnswerDraft, Progress, Project
from benchbuilder.annotation.database.page_state import hash_draft
from benchbuilder.core import PageTexts
from benchbuilder.web import SECURITY_HEADERS, PostedForm, RefusedRequest, posted_form

router = APIRouter()

DRAFT_KEPT_HEADER = "Draft-Kept"
"""The header that tells scripts whether the server saved the entered values: ``yes`` or ``no``."""

_log = logging.getLogger("benchbuilder.annotation.app")
_LOCAL_PATH = re.compile(r"/(?:[\w.-]+(?:/[\w.-]+)*)?", re.ASCII)
_MAX_LATE_SECONDS = 86_400
_LATE_STYLES = """\
.late[hidden] { display: block; visibility: hidden; max-height: 0; padding-block: 0; margin: 0; overflow: hidden;
  animation: late 0s linear SECONDSs forwards; }
@keyframes late { to { visibility: visible; max-height: 20rem; padding-block: .35rem; margin: 0 0 .5rem; } }
"""


@router.get("/")
def home_page(request: Request) -> Response:
    """The visitor's projects."""
    visit = require_visit(request)
    if visit.person.role == "lead":
        return redirect("/lead")
    projects = visit.store.projects()
    if visit.person.role == "adjudicator":
        waiting = [(project, visit.store.count_disputes(project.name, visit.person)) for project in projects]
        return visit.page("home_adjudicator.j2", waiting=[pair for pair in waiting if pair[0].spec.rule != "mean"])
    own = [(project, visit.store.progress(visit.person, project.name)) for project in projects]
    return visit.page(
        "home.j2", own=[(p, progress_context(visit.texts, p, done)) for p, done in own if task_count(done)]
    )


def task_count(progress: Progress) -> int:
    """The number of a person's tasks."""
    return progress.done + progress.open + progress.skipped


def progress_context(texts: PageTexts, project: Project, progress: Progress) -> dict[str, object]:
    """Progress for templates: counts, pace, and the time left by the median so far, or else by the suggested time."""
    total = task_count(progress)
    seconds_per_task = progress.median_seconds or project.spec.suggested_seconds
    remaining = total - progress.done
    return {
        "done": progress.done,
        "total": total,
        "skipped": progress.skipped,
        "flagged": progress.flagged,
        "median": texts.duration(progress.median_seconds) if progress.median_seconds else "",
        "left": texts.duration(seconds_per_task * remaining) if seconds_per_task and remaining else "",
    }


@router.get("/help")
def help_page(request: Request) -> Response:
    """How the pages work, and their keyboard shortcuts."""
    return make_visit(request).page("help.j2")


@router.post("/language")
def choose_language(request: Request, form: Annotated[PostedForm, Depends(posted_form)]) -> Response:
    """Save the chosen language, and return to the former page."""
    visit = require_visit(request, form=form)
    if form("language") not in visit.site.languages:
        raise HTTPException(400)
    visit.store.choose_language(request.cookies[visit.site.cookie_name("session")], form("language"))
    return redirect(form("back") if _LOCAL_PATH.fullmatch(form("back")) else "/")


@router.post("/leave")
def sign_out(request: Request, form: Annotated[PostedForm, Depends(posted_form)]) -> Response:
    """End the session."""
    visit = require_visit(request, form=form)
    name = visit.site.cookie_name("session")
    visit.store.end_session(request.cookies[name])
    response = Visit(request, visit.site, None, visit.texts).page("left.j2")
    response.delete_cookie(name, secure=visit.site.secure, httponly=True, samesite="lax")
    return response


@router.get("/late/{seconds}.css")
def late_stylesheet(seconds: str) -> Response:
    """A style sheet that shows the banner after `seconds`, for browsers without scripts."""
    if not seconds.isascii() or not seconds.isdigit() or len(seconds) > 5 or int(seconds) > _MAX_LATE_SECONDS:
        raise HTTPException(404)
    css = _LATE_STYLES.replace("SECONDS", str(int(seconds)))
    return Response(css, media_type="text/css", headers={"Cache-Control": "private, max-age=86400"})


def find_project(visit: Visit, name: str) -> Project:
    """The project called `name`; 404 if there is none."""
    project = visit.store.project(name) if len(name) <= 200 else None
    if project is None:
        raise HTTPException(404)
    return project


def browser_key(visit: Visit, *parts: str) -> str:
    """The key under which a browser keeps unsent values; it is unique for this person and `parts`."""
    person = visit.person
    lines = (*parts, person.code, person.name, person.invited_at.isoformat())
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def draft_context(draft: AnswerDraft | None) -> dict[str, str]:
    """For templates: the draft that a page starts from, and the page that saved it."""
    return {"draft": "", "writer": ""} if draft is None else {"draft": hash_draft(draft.data), "writer": draft.page}


def draft_response(visit: Visit, path: str, draft_kept: bool) -> Response:
    """The response to a saved draft, or 413 if it is too big."""
    if wants_json(visit.request):
        return JSONResponse({"state": "saved" if draft_kept else "too_big"}, 200 if draft_kept else 413)
    if not draft_kept:
        raise HTTPException(413)
    return redirect(path)


def error_lines(
    visit: Visit, labels: Mapping[str, str], errors: Mapping[str, str], note_key: str
) -> list[tuple[str, str, str]]:
    """Field, label and error text of each error in the order of `labels`; `note_key` names the label of the remark."""
    labels = {**labels, NOTE_FIELD: visit.texts(note_key), "": ""}
    return [(field, label, errors[field]) for field, label in labels.items() if field in errors]


def wants_json(request: Request) -> bool:
    """Whether a script sent the request; it gets JSON."""
    return request.headers.get("accept", "") == "application/json"


def continue_to(visit: Visit, path: str) -> Response:
    """Redirect to `path`; scripts get the path as JSON."""
    return JSONResponse({"next": path}) if wants_json(visit.request) else redirect(path)


def with_draft_header(response: Response, draft_kept: bool) -> Response:
    """Add the header that says whether the entered values were saved."""
    response.headers[DRAFT_KEPT_HEADER] = "yes" if draft_kept else "no"
    return response


def conflict_page(visit: Visit, template: str, draft_kept: bool, **context: object) -> Response:
    """A 409 response: the content changed since the visitor saw it; it says whether a draft was kept."""
    if wants_json(visit.request):
        return with_draft_header(
            JSONResponse({"state": "changed", "kept": draft_kept}, HTTPStatus.CONFLICT), draft_kept
        )
    return with_draft_header(visit.page(template, HTTPStatus.CONFLICT, kept=draft_kept, **context), draft_kept)


def error_page(request: Request, status: int, reason: str = "") -> Response:
    """The error page (JSON for scripts), in the language of the browser."""
    visit = anonymous_visit(request)
    if wants_json(request):
        return JSONResponse({"state": reason or "refused"}, status, SECURITY_HEADERS)
    key = f"refused.{reason}" if reason else f"error.{status}"
    if not visit.texts.has_text(f"{key}.title"):
        key = "error.500" if status >= 500 else "error.400"
    response = visit.page("error.j2", status, key=key)
    response.headers.update(SECURITY_HEADERS)
    return response


def on_http_error(request: Request, error: Exception) -> Response:
    """Handler of refused requests."""
    assert isinstance(error, HTTPException)
    response = error_page(request, error.status_code, error.reason if isinstance(error, RefusedRequest) else "")
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        response.headers["Retry-After"] = "300"
    return response


def on_bad_request(request: Request, _error: Exception) -> Response:
    """Handler of addresses that the framework refuses: 404."""
    return error_page(request, 404)


def on_data_error(request: Request, error: Exception) -> Response:
    """Handler of a database that cannot be used now; the server's log has the reason."""
    _log.error("%s", error)
    response = error_page(request, HTTPStatus.SERVICE_UNAVAILABLE)
    response.headers["Retry-After"] = "15"
    return response


def on_unexpected_error(request: Request, _error: Exception) -> Response:
    """Handler of all other errors; only the server's log has the traceback."""
    return error_page(request, 500)
