"""Guards every route of a web app: known hosts, small bodies, security headers, and a log without secrets."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

_log = logging.getLogger("benchbuilder.web.access")
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
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


def is_same_origin(request: Request) -> bool:
    """Whether a page of this app sent the request, by its headers; clients that send none of them are no browsers.

    Pages without referrer send the origin ``null``; then ``Sec-Fetch-Site`` decides, and the token in the form.
    """
    site = request.headers.get("sec-fetch-site", "")
    if site and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin", "")
    if origin in ("", "null"):
        return True
    try:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()
    except ValueError:
        return False


def host_of(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case; empty if it is no such header.

    >>> host_of("Example.org:8000"), host_of("[::1]:8000"), host_of("localhost"), host_of("[::1].example.org")
    ('example.org', '::1', 'localhost', '')
    """
    found = _HOST.fullmatch(host.strip().lower())
    if found is None or int(found["port"] or 0) >= 2**16:
        return ""
    return found["address"] or found["name"]


def loggable_path(path: str) -> str:
    """A path for the log: without token and line breaks, and short.

    >>> loggable_path("/enter/abc"), loggable_path("/p/claims/3")
    ('/enter/...', '/p/claims/3')
    """
    return ascii(_SECRET.sub("...", path))[1:-1][:200]


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s %s %d %.0f ms", scope["method"], loggable_path(scope["path"]), status, seconds * 1000)
