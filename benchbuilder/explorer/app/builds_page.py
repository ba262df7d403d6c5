"""The first page: all builds, of which two can be chosen to be compared."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.page_templates import path_part
from benchbuilder.explorer.reading.build_summaries import summarise_build

router = APIRouter()


@router.get("/")
def builds_page(request: Request) -> Response:
    """All builds: recipe, time, items, cost, audit and state."""
    page = page_request(request)
    return page.page("builds.j2", summaries=[summarise_build(build) for build in page.site.builds.values()])


@router.get("/compare")
def chosen_builds(request: Request, build: Annotated[list[str] | None, Query()] = None) -> Response:
    """Lead to the comparison of the first two builds that were ticked; 400 for fewer."""
    page = page_request(request)
    chosen = [page.build(name) for name in (build or [])[:2]]
    if len(chosen) < 2:
        return page.page("error.j2", 400, key="view.refused.choose_two", message="")
    return RedirectResponse(f"/b/{path_part(chosen[0].name)}/compare/{path_part(chosen[1].name)}", 303)
