"""From an invite link to a session."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from benchbuilder.annotation.app.sessions import Form, Refusal, anonymous, go, posted, site_of

T = TypeVar("T")

router = APIRouter()

SESSION_S = 7 * 24 * 3600
"""How long browsers keep the cookie; the database ends sessions earlier."""


@router.get("/enter/{token}")
def door(request: Request, token: str) -> Response:
    """A page with one button: programs that look at links in messages do not use them up. 403 for a wrong token."""
    visit = anonymous(request)
    _checked(request, token, visit.ballots.admits)
    slip = secrets.token_urlsafe(16)
    response = visit.page("enter.j2", token=token, slip=slip)
    response.set_cookie(
        visit.site.cookie("entering"), slip, max_age=3600, secure=visit.site.secure, httponly=True, samesite="lax"
    )
    return response


@router.post("/enter")
def enter(request: Request, form: Annotated[Form, Depends(posted)]) -> Response:
    """Begin a session; 403 for a wrong token, or if this browser did not open the link itself."""
    site = site_of(request)
    slip = request.cookies.get(site.cookie("entering"), "")
    if not slip or not hmac.compare_digest(form("csrf").encode(), slip.encode()):
        raise Refusal(403, "stale_door")
    session, _ = _checked(request, form("token"), site.ballots.enter)
    response = go("/")
    response.set_cookie(
        site.cookie("session"), session, max_age=SESSION_S, secure=site.secure, httponly=True, samesite="lax"
    )
    response.delete_cookie(site.cookie("entering"), secure=site.secure, httponly=True, samesite="lax")
    return response


def _checked(request: Request, token: str, ask: Callable[[str], T | None]) -> T:
    """What `ask` says of `token`; 403 if it says no, 429 if too many tokens did not let anybody in lately."""
    site = site_of(request)
    address = request.client.host if request.client else ""
    if site.attempts.exhausted(address):
        raise Refusal(429, "too_many")
    said = ask(token) if 0 < len(token) <= 200 and token.isascii() else None
    if not said:
        site.attempts.failed(address)
        raise Refusal(403, "wrong_token")
    return said
