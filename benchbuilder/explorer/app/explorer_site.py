"""What all requests of an explorer share: its builds, its secrets, its languages; and a request with its page."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse

from benchbuilder.core import PageTexts, load_languages
from benchbuilder.explorer.app.page_templates import render_page
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.workbench.recipe_memory import RecipeMemory
from benchbuilder.explorer.workbench.trial_process import TrialProcesses
from benchbuilder.web import preferred_language


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class ExplorerSite:
    """The builds by name, and what protects the pages.

    `token` is in the address that a browser enters by; `post_token` must come with every request that is not GET.
    With `read_only`, no page writes. `recipes` are further folders of recipes; `trials` tries
    rules, and `memory` keeps loaded recipes.
    """

    builds: Mapping[str, BuildFolder]
    read_only: bool = False
    recipes: tuple[str, ...] = ()
    languages: Mapping[str, PageTexts] = field(default_factory=lambda: load_languages({}))
    token: str = field(default_factory=_new_secret, repr=False)
    session: str = field(default_factory=_new_secret, repr=False)
    post_token: str = field(default_factory=_new_secret, repr=False)
    trials: TrialProcesses = field(default_factory=TrialProcesses, repr=False)
    memory: RecipeMemory = field(default_factory=RecipeMemory, repr=False)

    @staticmethod
    def cookie_name(request: Request, name: str = "entry") -> str:
        """The name of a cookie of this server: it has the port, as all ports of a host share cookies."""
        return f"benchbuild_{name}_{request.url.port or 80}"


@dataclass(frozen=True)
class PageRequest:
    """A request, the site, and the texts in the language of its reader."""

    request: Request
    site: ExplorerSite
    texts: PageTexts

    def page(
        self, template: str, status: int = 200, build: BuildFolder | None = None, here: str = "", **context: Any
    ) -> HTMLResponse:
        """Render `template` with ``t`` (texts), ``build``, ``here`` (the part of the navigation), and `context`."""
        body = render_page(
            template, t=self.texts, site=self.site, build=build, here=here, languages=self.site.languages,
            path=self.request.url.path + (f"?{self.request.url.query}" if self.request.url.query else ""), **context,
        )  # fmt: skip
        return HTMLResponse(body, status)

    def build(self, name: str) -> BuildFolder:
        """The build of this name; 404 if there is none."""
        build = self.site.builds.get(name)
        if build is None:
            raise HTTPException(404)
        return build

    def post_url(self, path: str) -> str:
        """The address for a form that is sent by POST: it holds the token without which the server refuses."""
        return f"{path}{'&' if '?' in path else '?'}token={self.site.post_token}"


def page_request(request: Request) -> PageRequest:
    """The request with its texts, for routes."""
    site: ExplorerSite = request.app.state.site
    chosen = request.cookies.get(site.cookie_name(request, "language"), "")
    code = chosen if chosen in site.languages else preferred_language(
        request.headers.get("accept-language", ""), site.languages
    )  # fmt: skip
    return PageRequest(request, site, site.languages[code])
