"""Assembles the review app from its routers and middleware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from benchbuilder.annotation.app import adjudicate_pages, annotate_pages, dashboard, login, pages
from benchbuilder.annotation.app.sessions import Site
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core import DataError, load_languages
from benchbuilder.web import CachedStaticFiles, RequestGuard


def create_app(
    store: AnnotationStore,
    text_files: Mapping[str, Path],
    *,
    secure: bool,
    hosts: Sequence[str],
    site_name: str = "",
    command: str = "",
) -> FastAPI:
    """Create the app.

    Args:
        store: the database of votes.
        text_files: further files with interface texts, by language.
        secure: whether browsers use HTTPS; then cookies are sent only by HTTPS.
        hosts: allowed host names, ``*`` for all.
        site_name: distinguishes apps on several ports of one host, as ports share cookies; without it, signing in to
            one app signs a browser out of the others.
        command: the command of the build that counts the votes, for the home pages.

    Raises:
        DataError: a file of `text_files` cannot be used.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(HTTPException, pages.on_http_error)
    app.add_exception_handler(RequestValidationError, pages.on_bad_request)
    app.add_exception_handler(DataError, pages.on_data_error)
    app.add_exception_handler(Exception, pages.on_unexpected_error)
    app.state.site = Site(store, load_languages(text_files), secure, site_name, command)
    for part in (pages, login, annotate_pages, adjudicate_pages, dashboard):
        app.include_router(part.router)
    app.mount("/static", CachedStaticFiles("benchbuilder.annotation.app"))
    app.add_middleware(RequestGuard, hosts=hosts, secure=secure, refusal_page=pages.error_page)
    return app
