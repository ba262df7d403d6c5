"""Signs people in with an invite link."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from benchbuilder.annotation.app.sessions import anonymous_visit, redirect, site_of
from benchbuilder.web import PostedForm, RefusedRequest, posted_form

T = TypeVar("T")

router = APIRouter()

SESSION_SECONDS = 7 * 24 * 3600
"""How long browsers keep the cookie; the database ends sessions earlier if they are idle."""


@router.get("/enter/{token}")
def invite_page(request: Request, token: str) -> Response:
    """A page with one button, so that programs that preview links cannot sign in. 403 for an invalid token."""
    visit = anonymous_visit(request)
    _check_token(request, token, visit.store.admits)
    slip = secrets.token_urlsafe(16)
    response = visit.page("enter.j2", token=token, slip=slip)
    response.set_cookie(
        visit.site.cookie_name("entering"), slip, max_age=3600, secure=visit.site.secure, httponly=True, samesite="lax"
    )
    return response


@router.post("/enter")
def sign_in(request: Request, form: Annotated[PostedForm, Depends(posted_form)]) -> Response:
    """Begin a session; 403 for an invalid token, or if this browser did not open the link itself."""
    site = site_of(request)
    slip = request.cookies.get(site.cookie_name("entering"), "")
    if not slip or not hmac.compare_digest(form("csrf").encode(), slip.encode()):
        raise RefusedRequest(403, "stale_link")
    session, _ = _check_token(request, form("token"), site.store.begin_session)
    response = redirect("/")
    response.set_cookie(
        site.cookie_name("session"), session, max_age=SESSION_SECONDS, secure=site.secure, httponly=True, samesite="lax"
    )
    response.delete_cookie(site.cookie_name("entering"), secure=site.secure, httponly=True, samesite="lax")
    return response


def _check_token(request: Request, token: str, look_up: Callable[[str], T | None]) -> T:
    """The result of `look_up` for `token`; 403 for an invalid token, 429 after too many of them.

    A valid token always works: else wrong links of somebody else at the same address would lock its person out.
    """
    site = site_of(request)
    result = look_up(token) if 0 < len(token) <= 200 and token.isascii() else None
    if result:
        return result
    address = request.client.host if request.client else ""
    if site.login_throttle.is_exhausted(address):
        raise RefusedRequest(429, "too_many")
    site.login_throttle.record_failure(address)
    raise RefusedRequest(403, "wrong_token")
