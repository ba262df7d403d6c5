"""Requests: the visitor, the language, the posted form, and the page in response."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse, RedirectResponse

from benchbuilder.annotation.app.progress_cache import SnapshotCache
from benchbuilder.annotation.app.rendering import render_template
from benchbuilder.annotation.database.models import Person, Role, Visitor
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core import PageTexts
from benchbuilder.web import PostedForm, RefusedRequest, client_network, preferred_language

_log = logging.getLogger("benchbuilder.annotation.app")

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
                _log.warning("%d wrong links in %.0f s from %s", len(mine) + 1, self._window_s, ascii(address))
            self._failures[address] = [*mine, now][-self._per_address :]
            self._all = [*self._all, now][-self._overall :]
            while len(self._failures) > _ADDRESSES:
                self._failures.popitem(last=False)


@dataclass(frozen=True)
class Site:
    """What all requests share."""

    store: AnnotationStore
    languages: Mapping[str, PageTexts]
    secure: bool
    name: str = ""
    command: str = ""
    login_throttle: LoginThrottle = field(default_factory=LoginThrottle)
    snapshots: SnapshotCache = field(default_factory=SnapshotCache)

    def cookie_name(self, name: str) -> str:
        """The name of a cookie. With HTTPS, its prefix makes browsers accept it only if it is secure and for this host.

        The name of the site is part of it, as all ports of a host share cookies.
        """
        mark = f"_{hashlib.blake2b(self.name.encode(), digest_size=4).hexdigest()}" if self.name else ""
        return f"__Host-review_{name}{mark}" if self.secure else f"review_{name}{mark}"


@dataclass(frozen=True)
class Visit:
    """A request, its visitor (``None`` if nobody is signed in), and the interface texts in their language."""

    request: Request
    site: Site
    visitor: Visitor | None
    texts: PageTexts

    @property
    def store(self) -> AnnotationStore:
        """The database of votes."""
        return self.site.store

    @property
    def person(self) -> Person:
        """The person who is signed in; 403 if nobody is."""
        if self.visitor is None:
            raise RefusedRequest(403, "signed_out")
        return self.visitor.person

    def page(self, template: str, status: int = 200, **context: Any) -> HTMLResponse:
        """Render `template` with `context` and with ``t`` (the texts), ``visitor``, ``languages``, ``here``."""
        body = render_template(
            template,
            t=self.texts,
            visitor=self.visitor,
            languages=self.site.languages,
            here=self.request.url.path if status == 200 and self.request.method == "GET" else "/",
            **context,
        )
        return HTMLResponse(body, status)


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    return request.app.state.site


def make_visit(request: Request) -> Visit:
    """The visit; its visitor is ``None`` if nobody is signed in."""
    site = site_of(request)
    session = request.cookies.get(site.cookie_name("session"), "")
    visitor = site.store.find_visitor(session) if 0 < len(session) <= 200 and session.isascii() else None
    language = visitor.language if visitor is not None else ""
    if language not in site.languages:
        language = preferred_language(request.headers.get("accept-language", ""), site.languages)
    return Visit(request, site, visitor, site.languages[language])


def require_visit(request: Request, *roles: Role, form: PostedForm | None = None) -> Visit:
    """The visit of a person with one of `roles` (any if none); 403 for others, and for a `form` without valid token."""
    visit = make_visit(request)
    if visit.visitor is None:
        raise RefusedRequest(403, "signed_out")
    if request.method == "POST":
        if form is None:
            raise TypeError("a POST is checked with its form")
        if not hmac.compare_digest(form("csrf").encode(), visit.visitor.csrf.encode()):
            raise RefusedRequest(403, "stale_page")
    if roles and visit.visitor.person.role not in roles:
        raise RefusedRequest(403, "other_role")
    return visit


def anonymous_visit(request: Request) -> Visit:
    """A visit without a look into the database, for error pages."""
    site = site_of(request)
    language = preferred_language(request.headers.get("accept-language", ""), site.languages)
    return Visit(request, site, None, site.languages[language])


def redirect(path: str) -> RedirectResponse:
    """Redirect to `path` of this app, to be requested with GET."""
    return RedirectResponse(path, 303)
