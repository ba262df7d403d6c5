"""Pages of the lead: how far projects are, how far people agree, what stays, and how each annotator works."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from benchbuilder.annotation.app.dashboard_view import Glossary, Worker, columns, workers
from benchbuilder.annotation.app.progress_cache import Snapshot, standings_of
from benchbuilder.annotation.app.sessions import Visit, signed_in
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.progress.project import TaskStanding
from benchbuilder.annotation.sheets.cells import escape

router = APIRouter(prefix="/lead")

_A_PAGE = 50
_FLAGS = 100
_LAST = 10_000_000


@router.get("")
def overview(request: Request) -> Response:
    """Every project with how much of it is done."""
    visit = signed_in(request, "lead")
    projects = [(project, visit.ballots.standing(project.name)) for project in visit.ballots.projects()]
    return visit.page("lead.j2", projects=projects, say=Glossary)


@router.get("/{name}")
def project(request: Request, name: str) -> Response:
    """Where one project stands."""
    visit, snapshot = _look(request, name)
    standing, spec = snapshot.standing, snapshot.project.spec
    scales = {scale: [row for row in standing.questions if row.scale == scale] for scale in _SCALES}
    reasons = Counter(task.gate for task in standing.tasks if task.fate == "dropped")
    return visit.page(
        "lead_project.j2",
        project=snapshot.project,
        spec=spec,
        at=snapshot.at,
        standing=standing,
        staff=snapshot.staff,
        scales={scale: (columns(rows), rows) for scale, rows in scales.items() if rows},
        counts={fate: standing.count(fate) for fate in ("kept", "dropped", "open")},
        reasons=reasons,
        workers=workers(snapshot.staff.shares, spec),
        flags=snapshot.flags[:_FLAGS],
        more_flags=max(0, len(snapshot.flags) - _FLAGS),
        say=Glossary(visit.texts, spec),
    )


_SCALES = ("nominal", "ordinal", "interval")


@router.get("/{name}/tasks")
def tasks(
    request: Request,
    name: str,
    fate: Literal["", "kept", "dropped", "open"] = "",
    gate: str = "",
    start: Annotated[int, Query(ge=1, le=_LAST)] = 1,
) -> Response:
    """What becomes of each task and why, fifty at a time."""
    visit, snapshot = _look(request, name)
    found = _filtered(snapshot.standing.tasks, fate, gate)
    return visit.page(
        "lead_tasks.j2",
        project=snapshot.project,
        standing=snapshot.standing,
        at=snapshot.at,
        found=found[start - 1 : start - 1 + _A_PAGE],
        total=len(found),
        fate=fate,
        gate=gate,
        start=start,
        earlier=max(1, start - _A_PAGE) if start > 1 else 0,
        later=start + _A_PAGE if start - 1 + _A_PAGE < len(found) else 0,
        say=Glossary(visit.texts, snapshot.project.spec),
    )


@router.get("/{name}/tasks.csv")
def tasks_csv(request: Request, name: str) -> Response:
    """The same of all tasks as a file."""
    _, snapshot = _look(request, name)
    head = ("number", "key", "text", "partition", "fate", "gate", "decided", "needed", "missing_judgements",
            "missing_decisions", "adjudicated")  # fmt: skip
    rows = (
        (task.number, task.key, task.text, task.partition, task.fate, task.gate, _number(task.decided),
         _number(task.needed), task.votes, task.decisions, task.adjudicated)
        for task in snapshot.standing.tasks
    )  # fmt: skip
    return _csv(f"{_safe(name)}-tasks.csv", head, rows)


@router.get("/{name}/people.csv")
def people_csv(request: Request, name: str) -> Response:
    """How each person works, as a file."""
    _, snapshot = _look(request, name)
    head = ("code", "name", "role", "done", "open", "skipped", "flagged", "median_seconds", "seconds_10", "seconds_90",
            "hasty", "tasks_per_hour", "gold_right", "gold_judged")  # fmt: skip
    return _csv(f"{_safe(name)}-people.csv", head, map(_cells, workers(snapshot.staff.shares, snapshot.project.spec)))


def _look(request: Request, name: str) -> tuple[Visit, Snapshot]:
    """The visit of a lead, and where the project called `name` stands (404 if there is none)."""
    visit = signed_in(request, "lead")
    found: Project | None = visit.ballots.project(name)
    if found is None:
        raise HTTPException(404)
    return visit, standings_of(visit.ballots).of(visit.ballots, found)


def _filtered(found: Sequence[TaskStanding], fate: str, gate: str) -> Sequence[TaskStanding]:
    if not fate and not gate:
        return found
    return [task for task in found if fate in ("", task.fate) and gate in ("", task.gate)]


def _cells(worker: Worker) -> tuple[object, ...]:
    person, progress, pace, gold = worker.person, worker.progress, worker.pace, worker.gold
    return (
        person.code, person.name, person.role, progress.done, progress.open, progress.skipped, progress.flagged,
        _number(pace.median), _number(pace.tenth), _number(pace.ninetieth), pace.hasty, _number(pace.per_hour),
        gold.right, gold.judged,
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _safe(name: str) -> str:
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)[:60]


def _csv(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """A CSV file in UTF-8 with a mark at its start, for spreadsheets; no cell is taken for a formula."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(head)
    for row in rows:
        writer.writerow([escape(cell) if isinstance(cell, str) else cell for cell in row])
    return Response(
        text.getvalue().encode("utf-8-sig"),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
