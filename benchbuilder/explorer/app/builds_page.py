"""The first page: all builds, of which two can be chosen to be compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchbuilder.annotation import DATABASE_FILE
from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.page_templates import path_part
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.build_summaries import summarise_build

router = APIRouter()
_SWEEP_TABLE = "sweep.csv"
"""What a sweep writes beside its builds."""


@router.get("/")
def builds_page(request: Request) -> Response:
    """All builds: recipe, time, items, cost, audit and state."""
    page = page_request(request)
    builds = page.site.builds.values()
    settings = _sweep_settings(builds)
    reviewed = any((build.store.workplace / DATABASE_FILE).exists() for build in builds)
    return page.page(
        "builds.j2", summaries=[summarise_build(build) for build in builds], reviewed=reviewed, settings=settings
    )


def _sweep_settings(builds: Iterable[BuildFolder]) -> dict[str, str]:
    """What a sweep varied in each of its builds, by the name of the build."""
    sweeps: dict[Path, list[BuildFolder]] = {}
    for build in builds:
        if (build.folder.parent / _SWEEP_TABLE).is_file():
            sweeps.setdefault(build.folder.parent, []).append(build)
    found: dict[str, str] = {}
    for runs in sweeps.values():
        shared = set(runs[0].words).intersection(*(run.words for run in runs))
        found |= {run.name: shlex.join(word for word in run.words if word not in shared) for run in runs}
    return found


@router.get("/compare")
def chosen_builds(request: Request, build: Annotated[list[str] | None, Query()] = None) -> Response:
    """Lead to the comparison of the first two builds that were ticked; 400 for fewer."""
    page = page_request(request)
    chosen = [page.build(name) for name in (build or [])[:2]]
    if len(chosen) < 2:
        return page.page("error.j2", 400, key="view.refused.choose_two", message="")
    return RedirectResponse(f"/b/{path_part(chosen[0].name)}/compare/{path_part(chosen[1].name)}", 303)
