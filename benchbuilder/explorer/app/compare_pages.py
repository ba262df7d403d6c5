"""The page that compares two builds: which items were added, removed or changed, and why."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from benchbuilder.core import DataError
from benchbuilder.explorer.app.explorer_site import page_request
from benchbuilder.explorer.app.items_pages import address_with, whole_number
from benchbuilder.pipeline import BenchmarkDifferences, BuiltBenchmark, compare_builds

router = APIRouter()

_PAGE = 100
_SORTS = ("added", "removed", "changed")


@router.get("/b/{name}/compare/{other}")
def compare_page(request: Request, name: str, other: str) -> Response:
    """The items that differ between a build and another one, each with its cause, as ``benchbuild diff`` says."""
    page = page_request(request)
    left, right = page.build(name), page.build(other)
    query = page.request.query_params
    try:
        found = compare_builds(BuiltBenchmark(left.folder), BuiltBenchmark(right.folder))
    except DataError as error:
        return page.page("compare_none.j2", build=left, other=right, message=str(error))
    chosen = next((one for one in found if one.task == query.get("task")), found[0])
    sort, cause = query.get("sort", ""), query.get("cause", "")
    changes = [change for change in chosen.changes if sort in ("", change.sort) and cause in ("", change.cause)]
    start = min(whole_number(page, "at"), max(len(changes) - 1, 0))
    return page.page(
        "compare.j2", build=left, other=right, here="compare", found=found, chosen=chosen, counts=_counts(chosen),
        sorts=_SORTS, sort=sort, cause=cause, changes=changes[start : start + _PAGE], total=len(changes),
        start=start, end=min(start + _PAGE, len(changes)),
        before=address_with(page, at=max(start - _PAGE, 0) or "") if start else "",
        following=address_with(page, at=start + _PAGE) if start + _PAGE < len(changes) else "",
        address=partial(address_with, page, at=""),
    )  # fmt: skip


def _counts(differences: BenchmarkDifferences) -> Mapping[str, Any]:
    """The number of changes of each sort, with the causes, the most frequent first."""
    counts = differences.counts()
    found: dict[str, Any] = {}
    for sort in _SORTS:
        causes = {cause: n for (of, cause), n in counts.items() if of == sort}
        found[sort] = sum(causes.values()), sorted(causes.items(), key=lambda pair: (-pair[1], pair[0]))
    return found
