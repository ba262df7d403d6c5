"""The rows of a step: facets, search, order, sample, pages by cursor; and how many hold a search."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from benchbuilder.core import DataError
from benchbuilder.explorer.app.explorer_site import PageRequest, page_request
from benchbuilder.explorer.app.row_addresses import RowsQuery, row_address, rows_address, unit_address
from benchbuilder.explorer.reading.branch_pages import (
    BranchFilter,
    BranchPage,
    BranchRow,
    facet_counts,
    read_page,
    shown_fields,
)
from benchbuilder.explorer.reading.build_folders import BuildFolder, read_again
from benchbuilder.explorer.reading.build_summaries import items_steps
from benchbuilder.explorer.reading.selections import (
    MOST_SORTED,
    SORT_KEYS,
    count_hits,
    sample_branches,
    sorted_branches,
)
from benchbuilder.explorer.reading.source_lines import source_lines
from benchbuilder.explorer.reading.step_parts import StepParts, parts_of
from benchbuilder.pipeline import Manifest

router = APIRouter()

_COUNT_SECONDS = 1.0
_ROW_ID = re.compile(r"[a-z_]{1,40}-[0-9a-f]{20}")
_UNIT = re.compile(r"(.{1,500}):(\d{1,12})")


@dataclass(frozen=True)
class ShownRows:
    """The rows of a page and how they were found; `error` says what is wrong with the search, `next` is a cursor."""

    rows: tuple[BranchRow, ...] = ()
    next: str = ""
    milliseconds: int = 0
    searched: int = 0
    parts: int = 0
    is_partial: bool = False
    error: str = ""


@router.get("/b/{name}/rows")
def rows_page(request: Request, name: str) -> Response:
    """The rows of a step."""
    page = page_request(request)
    build = page.build(name)
    return read_again(lambda: _rows_page(page, build, RowsQuery.of(request)))


def _rows_page(page: PageRequest, build: BuildFolder, query: RowsQuery) -> Response:
    manifests = build.manifests()
    if not manifests:
        return page.page("rows_none.j2", build=build, here="rows")
    query = replace(query, step=query.step or default_step(build, manifests))
    parts = parts_of(build, build.manifest(query.step))
    try:
        selection, error = query.selection(), ""
    except DataError as wrong:
        selection, error = replace(query, q="").selection(), wrong.what
    counts = facet_counts(parts, selection)
    shown = ShownRows(error=error) if error else _find(parts, selection, query, counts.total)
    lines = _lines(build, shown.rows) if query.lines or not parts.manifest.inputs else {}
    return page.page(
        "rows.j2", 400 if error else 200, build=build, here="rows", query=query, manifest=parts.manifest, shown=shown,
        steps=list(manifests), counts=counts, lines=lines, columns=columns_of(parts, shown.rows),
        can_sort=counts.total <= MOST_SORTED, most_sorted=MOST_SORTED, sort_keys=SORT_KEYS,
        to=partial(rows_address, build, query), row_of=partial(row_address, build),
        unit_of=partial(unit_address, build),
    )  # fmt: skip


def default_step(build: BuildFolder, manifests: Mapping[str, Manifest]) -> str:
    """The step whose rows are shown first: that of the items, or else the last one."""
    items = [step for step in items_steps(build.recipe) if step in manifests]
    return (items or list(manifests)[-1:])[0]


def _find(parts: StepParts, selection: BranchFilter, query: RowsQuery, total: int) -> ShownRows:
    began = time.perf_counter()
    if query.sample:
        found = BranchPage(sample_branches(parts, selection, query.sample), "", parts.count, parts.count)
    elif query.sort in SORT_KEYS and total <= MOST_SORTED:
        start = int(query.after) if query.after.isascii() and query.after.isdigit() and len(query.after) < 8 else 0
        rows, more = sorted_branches(parts, selection, query.sort, start)
        found = BranchPage(rows, str(start + len(rows)) if more else "", parts.count, parts.count)
    else:
        found = read_page(parts, selection, query.after)
    milliseconds = round((time.perf_counter() - began) * 1000)
    return ShownRows(found.rows, found.after, milliseconds, found.searched, found.parts, found.is_partial)


def _lines(build: BuildFolder, rows: tuple[BranchRow, ...]) -> dict[tuple[str, int], str]:
    """The lines of the files that the rows come from."""
    by_file: dict[str, set[int]] = {}
    for row in rows:
        by_file.setdefault(row.file, set()).add(row.unit)
    return {
        (file, number): line
        for file, numbers in by_file.items()
        for number, line in source_lines(build.folder, file, numbers).items()
    }


def columns_of(parts: StepParts, rows: tuple[BranchRow, ...]) -> list[str]:
    """The fields that the table has: those of the step's own rows that have text, or those of the rows it lost."""
    own = [name.rpartition(".")[2] for name in shown_fields(parts.schema)]
    found = dict.fromkeys(name for row in rows for name in row.texts)
    return [name for name in own if name in found] or list(found)


@router.get("/b/{name}/count")
def hits_count(request: Request, name: str, part: int = 0) -> Response:
    """How many branches a selection has from a part on: counted for a second, then the page asks for the rest."""
    build = page_request(request).build(name)
    query = RowsQuery.of(request)

    def count() -> dict[str, Any]:
        parts = parts_of(build, build.manifest(query.step))
        if not 0 <= part <= parts.count:
            raise HTTPException(400)
        found = count_hits(parts, query.selection(), part, _COUNT_SECONDS)
        return {"count": found.count, "next": found.next_part, "parts": found.parts, "seconds": found.seconds}

    return JSONResponse(read_again(count))


@router.get("/b/{name}/find")
def find_page(request: Request, name: str, q: str = "", step: str = "") -> Response:
    """Lead from the search in the header: to a row by its id, to a unit by FILE:LINE, or to rows with a text."""
    build = page_request(request).build(name)
    text = q.strip()[:1000]
    if _ROW_ID.fullmatch(text):
        return RedirectResponse(row_address(build, text), 303)
    if unit := _UNIT.fullmatch(text):
        files = {file for manifest in build.manifests().values() for file, *_ in manifest.units}
        if unit[1] in files:
            return RedirectResponse(unit_address(build, unit[1], int(unit[2])), 303)
    return RedirectResponse(rows_address(build, RowsQuery(step=step[:200], q=text)), 303)
