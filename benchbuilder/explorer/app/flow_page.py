"""The flow of a build: its steps as a graph and as a table, and what was lost for which reason."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.flow_chart import flow_charts
from benchbuilder.explorer.app.page_templates import path_part
from benchbuilder.explorer.app.row_addresses import RowsQuery, rows_address
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.build_summaries import summarise_build
from benchbuilder.explorer.reading.live_progress import read_progress
from benchbuilder.explorer.reading.step_flow import losses_by_reason, read_flow

router = APIRouter()


def _rows_of(build: BuildFolder, step: str, **filters: str) -> str:
    return rows_address(build, RowsQuery(step), **filters)


@router.get("/b/{name}")
def flow_without_slash(request: Request, name: str) -> Response:
    """Lead to the flow."""
    build = page_request(request).build(name)
    return RedirectResponse(f"/b/{path_part(build.name)}/", 307)


@router.get("/b/{name}/")
def flow_page(request: Request, name: str) -> Response:
    """The flow of a build."""
    page = page_request(request)
    build = page.build(name)
    flow, summary = read_flow(build.manifests()), summarise_build(build)
    rows_of = partial(_rows_of, build)
    charts = flow_charts(flow, lambda step, outcome: rows_of(step, outcome=outcome), page.texts)
    return page.page(
        "flow.j2", build=build, here="flow", flow=flow, summary=summary,
        charts=charts, losses=losses_by_reason(flow), lost=sum(step.lost for step in flow),
        rows_of=rows_of, progress=read_progress(build) if summary.state == "building" else None,
    )  # fmt: skip


@router.get("/b/{name}/progress")
def progress_part(request: Request, name: str) -> Response:
    """The part of the page that says what a build at work made so far; empty when it is done."""
    page = page_request(request)
    build = page.build(name)
    progress = read_progress(build)
    if not progress.is_at_work:
        return Response(status_code=204)
    return page.page("live_parts.j2", build=build, progress=progress)
