"""Middleware for every route (hosts, body limits, headers, a log without secrets), and limits of sign-in attempts."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from benchbuilder.annotation.app.connections import client_network

MAX_BODY = 1_000_000
"""The maximum size of a request body in bytes."""

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
"""Added to every response that does not set them (only static files set `Cache-Control`)."""

RefusalPage = Callable[[Request, int], Response]

_log = logging.getLogger("benchbuilder.annotation.app.access")
_attempts_log = logging.getLogger("benchbuilder.annotation.app")
_SECRET = re.compile(r"(?<=/enter/).+", re.DOTALL)


class RequestGuard:
    """Middleware: refuses unknown hosts (400) and bodies over `MAX_BODY` (413), adds `SECURITY_HEADERS`, logs.

    `hosts` are names without port; ``*`` allows all. The log has the method, the path without query and without
    tokens, the status and the milliseconds. `refusal_page` makes the response to refused requests.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str], secure: bool, refusal_page: RefusalPage) -> None:
        self._app, self._refuse = app, refusal_page
        self._hosts = {host.lower().strip("[]") for host in hosts}
        self._headers = dict(SECURITY_HEADERS)
        if secure:
            self._headers["Strict-Transport-Security"] = "max-age=31536000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                _log_request(scope, message["status"], time.perf_counter() - started)
            await send(message)

        if status := self._refusal_status(Headers(scope=scope)):
            await self._refuse(Request(scope), status)(scope, receive, guarded_send)
        else:
            await self._app(scope, _limit_body(receive), guarded_send)

    def _refusal_status(self, headers: Headers) -> int:
        """The status to refuse a request with these `headers`, or 0 to accept it."""
        if "*" not in self._hosts and host_of(headers.get("host", "")) not in self._hosts:
            return 400
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return 400
        return 413 if len(length) > 12 or int(length) > MAX_BODY else 0


def _limit_body(receive: Receive) -> Callable[[], Awaitable[Message]]:
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            raise HTTPException(413)
        return message

    return limited


def host_of(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case.

    >>> host_of("Example.org:8000"), host_of("[::1]:8000"), host_of("localhost")
    ('example.org', '::1', 'localhost')
    """
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def loggable_path(path: str) -> str:
    """A path for the log: without token and line breaks, and short.

    >>> loggable_path("/enter/abc"), loggable_path("/p/claims/3")
    ('/enter/...', '/p/claims/3')
    """
    return ascii(_SECRET.sub("...", path))[1:-1][:200]


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s %s %d %.0f ms", scope["method"], loggable_path(scope["path"]), status, seconds * 1000)


MAX_FAILURES_PER_ADDRESS = 20
MAX_FAILURES = 400
WINDOW_SECONDS = 300.0
_ADDRESSES = 10_000


class LoginThrottle:
    """Counts wrong links over the last `window_s` seconds, by client and in all.

    Only wrong links count, and a valid link is never refused: nobody can lock out others. So the limit in all, which a
    client cannot evade with other addresses, does no harm. Guessing is hopeless anyway: a link has 256 random bits.
    Memory is bounded: beyond 10,000 clients, the one with the oldest wrong link is forgotten.
    """

    def __init__(
        self,
        per_address: int = MAX_FAILURES_PER_ADDRESS,
        overall: int = MAX_FAILURES,
        window_s: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_address, self._overall, self._window_s, self._clock = per_address, overall, window_s, clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._all: list[float] = []
        self._lock = threading.Lock()

    def is_exhausted(self, address: str) -> bool:
        """Whether `address` has used up its wrong links."""
        address = client_network(address)
        with self._lock:
            since = self._clock() - self._window_s
            self._all = [at for at in self._all if at > since]
            mine = [at for at in self._failures.get(address, ()) if at > since]
            return len(mine) >= self._per_address or len(self._all) >= self._overall

    def record_failure(self, address: str) -> None:
        """Count one wrong link; the server's log says when an address uses up its last one."""
        address = client_network(address)
        with self._lock:
            now = self._clock()
            since = now - self._window_s
            mine = [at for at in self._failures.pop(address, ()) if at > since]
            if len(mine) == self._per_address - 1:
                _attempts_log.warning("%d wrong links in %.0f s from %s", len(mine) + 1, self._window_s, ascii(address))
            self._failures[address] = [*mine, now][-self._per_address :]
            self._all = [*self._all, now][-self._overall :]
            while len(self._failures) > _ADDRESSES:
                self._failures.popitem(last=False)
