"""Serves a web app on a port, with its static files, until somebody stops it."""

from __future__ import annotations

import hashlib
import socket
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, cast

import anyio.to_thread
import uvicorn
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from benchbuilder.core import ServiceError
from benchbuilder.web.connections import ConnectionLimits, GuardedProtocol

_OWN = "benchbuilder.web"


class CachedStaticFiles(StaticFiles):
    """The static files of `package`, and those that all web apps share.

    Browsers may keep them: their addresses, of `asset_url`, change with their content.
    """

    def __init__(self, package: str) -> None:
        super().__init__(packages=[(package, "static"), (_OWN, "static")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file of this path, which browsers may keep for a week."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=604800"
        return response


@cache
def asset_url(package: str, name: str) -> str:
    """The address of a static file of `package`, or of all web apps, with a hash of its content."""
    own = files(package).joinpath("static", name)
    content = (own if own.is_file() else files(_OWN).joinpath("static", name)).read_bytes()
    return f"/static/{name}?v={hashlib.blake2b(content, digest_size=6).hexdigest()}"


_THREADS = 8
"""Concurrent requests: with more of them, writers wait longer for the database."""
_SWITCH_SECONDS = 0.0005
"""The thread switch interval: writers release the lock at every statement, and must get it back soon."""


def serve_app(
    app: ASGIApp, host: str, port: int, *, on_ready: Callable[[str], None], proxies: Sequence[str] = (),
    limits: ConnectionLimits | None = None, on_stop: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Serve `app` until SIGINT or SIGTERM; `on_ready` gets the address as soon as requests are answered.

    Port 0 selects a free one. When it stops, running requests get ten seconds, then `on_stop` is called. What a request
    says about its client (``X-Forwarded-For``) counts only from `proxies` (addresses or networks). `limits` bounds slow
    clients.

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
    server = _Server(config, lambda: on_ready(f"http://{name}:{listening.getsockname()[1]}/"), on_stop)
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
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], stopped: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready, self._stopped = ready, stopped

    async def startup(self, *args: Any, **options: Any) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await super().startup(*args, **options)
        if not self.should_exit:
            self._ready()

    async def shutdown(self, *args: Any, **options: Any) -> None:
        await super().shutdown(*args, **options)
        self._stopped()  # SIGTERM ends the process right after this


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
            f"The pages cannot be served at {host}, port {port}",
            why=str(error),
            next="Stop what uses the port, or choose another one.",
        ) from error
    return listening
