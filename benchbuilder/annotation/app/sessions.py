"""Requests: the visitor, the language, the posted form, and the page in response."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse

from benchbuilder.annotation.app.i18n import preferred_language
from benchbuilder.annotation.app.progress_cache import SnapshotCache
from benchbuilder.annotation.app.rendering import render_template
from benchbuilder.annotation.app.security import LoginThrottle
from benchbuilder.annotation.database.models import Person, Role, Visitor
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core import PageTexts

_MAX_FIELDS = 3000


@dataclass(frozen=True)
class Site:
    """What all requests share."""

    store: AnnotationStore
    languages: Mapping[str, PageTexts]
    secure: bool
    name: str = ""
    login_throttle: LoginThrottle = field(default_factory=LoginThrottle)
    snapshots: SnapshotCache = field(default_factory=SnapshotCache)

    def cookie_name(self, name: str) -> str:
        """The name of a cookie. With HTTPS, its prefix makes browsers accept it only if it is secure and for this host.

        The name of the site is part of it, as all ports of a host share cookies.
        """
        mark = f"_{hashlib.blake2b(self.name.encode(), digest_size=4).hexdigest()}" if self.name else ""
        return f"__Host-review_{name}{mark}" if self.secure else f"review_{name}{mark}"


class RefusedRequest(HTTPException):
    """A refused request; `reason` is the key of its explanation in the section ``refused`` of the interface texts."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status)
        self.reason = reason


class PostedForm:
    """The fields of a form in the order sent, without control characters, and with LF as line ends."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = [(name, _normalise_text(value)) for name, value in pairs]
        self._last = dict(self.pairs)

    def __call__(self, name: str) -> str:
        """The last value of `name`; empty if there is none."""
        return self._last.get(name, "")

    def get_all(self, name: str) -> list[str]:
        """Every value of `name`: the boxes that were ticked."""
        return [value for key, value in self.pairs if key == name]

    def with_prefix(self, *prefixes: str) -> dict[str, str]:
        """The fields whose names start with one of `prefixes`."""
        return {name: value for name, value in self._last.items() if name.startswith(prefixes)}


_CONTROL_CHARACTERS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])


def _normalise_text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL_CHARACTERS)


async def posted_form(request: Request) -> PostedForm:
    """The form in a request, as a FastAPI dependency; 403 unless it comes from a page of this app."""
    if not is_same_origin(request):
        raise RefusedRequest(403, "other_site")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise HTTPException(400)
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(400) from error
    return PostedForm(pairs)


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
