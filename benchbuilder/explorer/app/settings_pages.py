"""What a reader can set: the language of the pages; and the list of keys."""

from __future__ import annotations

import re

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchbuilder.explorer.app.explorer_site import page_request

router = APIRouter()

_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\s]{0,2000}", re.ASCII)


@router.get("/language/{code}")
def choose_language(request: Request, code: str, back: str = "/") -> Response:
    """Remember the language in a cookie, and return to the former page."""
    page = page_request(request)
    if code not in page.site.languages:
        raise HTTPException(404)
    response = RedirectResponse(back if _LOCAL_PATH.fullmatch(back) else "/", 303)
    response.set_cookie(page.site.cookie_name(request, "language"), code, httponly=True, samesite="strict", path="/")
    return response


@router.get("/keys")
def keys_page(request: Request) -> Response:
    """The keys that the pages know."""
    return page_request(request).page("keys.j2")
