"""Assembles the explorer from its routers and middleware."""

from __future__ import annotations

import logging

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from benchbuilder.core import BenchbuilderError, DamagedError
from benchbuilder.explorer.app import (
    answers_pages,
    builds_page,
    compare_pages,
    entrance,
    flow_page,
    items_pages,
    row_page,
    rows_page,
    rule_form_pages,
    rule_pages,
    rule_saving_pages,
    settings_pages,
)
from benchbuilder.explorer.app.explorer_site import ExplorerSite, page_request
from benchbuilder.web import SECURITY_HEADERS, CachedStaticFiles, RefusedRequest, RequestGuard

_log = logging.getLogger("benchbuilder.explorer")

HOSTS = ("127.0.0.1", "localhost", "::1")
_READING = (
    entrance, settings_pages, builds_page, flow_page, rows_page, row_page, items_pages, answers_pages, compare_pages,
)  # fmt: skip
_WRITING = (rule_pages, rule_form_pages, rule_saving_pages)


def create_explorer(site: ExplorerSite) -> FastAPI:
    """Create the explorer of `site`; with ``read_only`` there is no route that writes."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    app.add_exception_handler(BenchbuilderError, _on_known_error)
    app.add_exception_handler(Exception, _on_unexpected_error)
    app.state.site = site
    for part in (*_READING, *(() if site.read_only else _WRITING)):
        app.include_router(part.router)
    app.mount("/static", CachedStaticFiles("benchbuilder.explorer.app"))
    app.add_middleware(entrance.EntranceGuard, site=site, refusal_page=_error_page)
    app.add_middleware(RequestGuard, hosts=HOSTS, secure=False, refusal_page=_error_page)
    return app


def _error_page(request: Request, status: int, reason: str = "", message: str = "") -> Response:
    """A page with the cause in one line (JSON for scripts); `message` stands for the text of `reason`."""
    site_request = page_request(request)
    t = site_request.texts
    key = f"view.refused.{reason or status}"
    key = key if t.has_text(f"{key}.title") else f"view.refused.{500 if status >= 500 else 400}"
    if request.headers.get("accept", "") == "application/json":
        return JSONResponse({"state": reason or "refused", "message": message or t(f"{key}.text")}, status)
    response = site_request.page("error.j2", status, key=key, message=message)
    response.headers.update(SECURITY_HEADERS)
    return response


def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error_page(request, error.status_code, error.reason if isinstance(error, RefusedRequest) else "")


def _on_bad_request(request: Request, _error: Exception) -> Response:
    return _error_page(request, 400)


def _on_known_error(request: Request, error: Exception) -> Response:
    if isinstance(error, DamagedError):
        return _error_page(request, 503, "unreadable", str(error))
    return _error_page(request, 404, "unknown", str(error))


def _on_unexpected_error(request: Request, _error: Exception) -> Response:
    return _error_page(request, 500)
