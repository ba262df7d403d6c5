"""Lets in only the browser of the person who started the explorer: a token in the address, then a cookie."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from benchbuilder.explorer.app.explorer_site import ExplorerSite
from benchbuilder.web import RefusedRequest, is_same_origin

router = APIRouter()

POST_HEADER = "X-View"
"""The header in which scripts send the token of a page; forms send it in their address."""
_OPEN = ("/static/", "/enter/")


class EntranceGuard:
    """Middleware: 403 without the cookie, and for what is not GET without the token of a page of this server."""

    def __init__(
        self, app: ASGIApp, *, site: ExplorerSite, refusal_page: Callable[[Request, int, str], Response]
    ) -> None:
        self._app, self._site, self._refuse = app, site, refusal_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if reason := self._refusal(request):
            await self._refuse(request, 403, reason)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> str:
        """Why to refuse a request, as a key of the texts; empty if it may pass."""
        if request.url.path.startswith(_OPEN) and request.method in ("GET", "HEAD"):
            return ""
        cookie = request.cookies.get(self._site.cookie_name(request), "")
        if not _is_same(cookie, self._site.session):
            return "no_entry"
        if request.method in ("GET", "HEAD"):
            return ""
        token = request.headers.get(POST_HEADER, "") or request.query_params.get("token", "")
        if not is_same_origin(request):
            return "other_site"
        return "" if _is_same(token, self._site.post_token) else "stale_page"


def _is_same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


@router.get("/enter/{token}")
def enter(request: Request, token: str) -> Response:
    """Give the browser its cookie, and lead it to the builds; 403 for another token."""
    site: ExplorerSite = request.app.state.site
    if not _is_same(token, site.token):
        raise RefusedRequest(403, "no_entry")
    response = RedirectResponse("/", 303)
    response.set_cookie(site.cookie_name(request), site.session, httponly=True, samesite="strict", path="/")
    return response
