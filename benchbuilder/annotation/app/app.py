"""Assembles the review app from its routers and middleware, and serves it on a port."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import anyio.to_thread
import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from benchbuilder.annotation.app import adjudicate_pages, annotate_pages, dashboard, login, pages
from benchbuilder.annotation.app.connections import ConnectionLimits, GuardedProtocol
from benchbuilder.annotation.app.security import RequestGuard
from benchbuilder.annotation.app.sessions import Site
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core import DataError, ServiceError, load_languages


def create_app(
    store: AnnotationStore, text_files: Mapping[str, Path], *, secure: bool, hosts: Sequence[str], site_name: str = ""
) -> FastAPI:  # fmt: skip
    """Create the app.

    Args:
        store: the database of votes.
        text_files: further files with interface texts, by language.
        secure: whether browsers use HTTPS; then cookies are sent only by HTTPS.
        hosts: allowed host names, ``*`` for all.
        site_name: distinguishes apps on several ports of one host, as ports share cookies; without it, signing in to
            one app signs a browser out of the others.

    Raises:
        DataError: a file of `text_files` cannot be used.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.add_exception_handler(HTTPException, pages.on_http_error)
    app.add_exception_handler(RequestValidationError, pages.on_bad_request)
    app.add_exception_handler(DataError, pages.on_data_error)
    app.add_exception_handler(Exception, pages.on_unexpected_error)
    app.state.site = Site(store, load_languages(text_files), secure, site_name)
    for part in (pages, login, annotate_pages, adjudicate_pages, dashboard):
        app.include_router(part.router)
    app.mount("/static", _CachedStaticFiles(directory=str(files("benchbuilder.annotation.app").joinpath("static"))))
    app.add_middleware(RequestGuard, hosts=hosts, secure=secure, refusal_page=pages.error_page)
    return app


class _CachedStaticFiles(StaticFiles):
    """Static files that browsers may keep: their addresses change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=604800"
        return response


_THREADS = 8
"""Concurrent requests: with more of them, writers wait longer for the database."""
_SWITCH_SECONDS = 0.0005
"""The thread switch interval: writers release the lock at every statement, and must get it back soon."""


def serve_app(
    app: FastAPI, host: str, port: int, *, on_ready: Callable[[str], None], proxies: Sequence[str] = (),
    limits: ConnectionLimits | None = None,
) -> None:  # fmt: skip
    """Serve `app` until SIGINT or SIGTERM; `on_ready` gets the address as soon as requests are answered.

    Port 0 selects a free one. When it stops, running requests get ten seconds. What a request says about its client
    (``X-Forwarded-For``) counts only from `proxies` (addresses or networks). `limits` bounds slow clients.

    Raises:
        ServiceError: it cannot listen at this host and port.
    """
    listening = _listen(host, port)
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=10,
        timeout_keep_alive=30,
        http=cast("Any", partial(GuardedProtocol, limits or ConnectionLimits(proxies))),
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )
    name = f"[{host}]" if ":" in host else host
    server = _Server(config, lambda: on_ready(f"http://{name}:{listening.getsockname()[1]}/"))
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        sys.setswitchinterval(before)
        listening.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, *args: Any, **options: Any) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await super().startup(*args, **options)
        if not self.should_exit:
            self._ready()


def _listen(host: str, port: int) -> socket.socket:
    # asyncio disables delays only for sockets with the protocol TCP; otherwise pages take 40 ms longer.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ServiceError(
            f"The review app cannot listen at {host}, port {port}", why=str(error),
            next="Stop what uses the port, or choose another one.",
        ) from error  # fmt: skip
    return listening
