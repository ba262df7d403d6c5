"""The first page: all builds."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.explorer.app.explorer_site import page_request

router = APIRouter()


@router.get("/")
def builds_page(request: Request) -> Response:
    """All builds: recipe, time, items, cost, audit and state."""
    page = page_request(request)
    return page.page("builds.j2", builds=list(page.site.builds.values()))
