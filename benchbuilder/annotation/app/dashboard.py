"""Pages of the project owner: completion, agreement, outcomes, and the work of each annotator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from benchbuilder.annotation.app.dashboard_view import (
    AnnotatorSummary,
    DashboardTexts,
    annotator_summaries,
    measure_columns,
)
from benchbuilder.annotation.app.pages import find_project
from benchbuilder.annotation.app.progress_cache import ProjectSnapshot
from benchbuilder.annotation.app.sessions import Visit, require_visit
from benchbuilder.annotation.progress.project import TaskProgress
from benchbuilder.annotation.sheets.sheets import csv_bytes, escape_formula
from benchbuilder.core import show_invisible

router = APIRouter(prefix="/lead")

_PAGE_SIZE = 50
_MAX_FLAGS = 100
_MAX_START = 10_000_000


@router.get("")
def overview_page(request: Request) -> Response:
    """Every project with its completion."""
    visit = require_visit(request, "lead")
    projects = [(project, visit.store.staff_progress(project.name)) for project in visit.store.projects()]
    return visit.page("lead.j2", projects=projects, say=DashboardTexts, command=visit.site.command)


@router.get("/{name}")
def project_page(request: Request, name: str) -> Response:
    """The progress of one project."""
    visit, snapshot = _project_snapshot(request, name)
    progress, spec = snapshot.progress, snapshot.project.spec
    scales = {scale: [row for row in progress.questions if row.scale == scale] for scale in _SCALES}
    return visit.page(
        "lead_project.j2",
        project=snapshot.project,
        spec=spec,
        at=snapshot.taken_at,
        progress=progress,
        staff=snapshot.staff,
        scales={scale: (measure_columns(rows), rows) for scale, rows in scales.items() if rows},
        counts={outcome: progress.count(outcome) for outcome in ("kept", "dropped", "open")},
        workers=annotator_summaries(snapshot.staff.people, spec),
        flags=snapshot.flags[:_MAX_FLAGS],
        more_flags=max(0, len(snapshot.flags) - _MAX_FLAGS),
        say=DashboardTexts(visit.texts, spec),
    )


_SCALES = ("nominal", "ordinal", "interval")


@router.get("/{name}/tasks")
def tasks_page(
    request: Request,
    name: str,
    outcome: Literal["", "kept", "dropped", "open"] = "",
    gate: str = "",
    start: Annotated[int, Query(ge=1, le=_MAX_START)] = 1,
) -> Response:
    """The outcome of each task with its reason, fifty per page."""
    visit, snapshot = _project_snapshot(request, name)
    tasks = _filter_tasks(snapshot.progress.tasks, outcome, gate)
    return visit.page(
        "lead_tasks.j2",
        project=snapshot.project,
        progress=snapshot.progress,
        at=snapshot.taken_at,
        found=tasks[start - 1 : start - 1 + _PAGE_SIZE],
        total=len(tasks),
        outcome=outcome,
        gate=gate,
        start=start,
        earlier=max(1, start - _PAGE_SIZE) if start > 1 else 0,
        later=start + _PAGE_SIZE if start - 1 + _PAGE_SIZE < len(tasks) else 0,
        say=DashboardTexts(visit.texts, snapshot.project.spec),
    )


@router.get("/{name}/tasks.csv")
def tasks_csv(request: Request, name: str) -> Response:
    """The outcomes of all tasks as CSV."""
    _, snapshot = _project_snapshot(request, name)
    head = ("number", "key", "text", "partition", "outcome", "gate", "decided", "needed", "missing_judgements",
            "missing_decisions", "adjudicated")  # fmt: skip
    rows = (
        (task.number, task.key, task.text, task.partition, task.outcome, task.gate, _number(task.decision),
         _number(task.required_decision), task.missing_votes, task.missing_decisions, task.adjudicated_count)
        for task in snapshot.progress.tasks
    )  # fmt: skip
    return _csv(f"{_safe(name)}-tasks.csv", head, rows)


@router.get("/{name}/people.csv")
def people_csv(request: Request, name: str) -> Response:
    """The work of each person as CSV."""
    _, snapshot = _project_snapshot(request, name)
    head = ("code", "name", "role", "done", "open", "skipped", "flagged", "median_seconds", "seconds_10", "seconds_90",
            "hasty", "tasks_per_hour", "gold_right", "gold_judged")  # fmt: skip
    return _csv(
        f"{_safe(name)}-people.csv",
        head,
        map(_cells, annotator_summaries(snapshot.staff.people, snapshot.project.spec)),
    )


def _project_snapshot(request: Request, name: str) -> tuple[Visit, ProjectSnapshot]:
    """The visit of a project owner, and the snapshot of the project called `name` (404 if there is none)."""
    visit = require_visit(request, "lead")
    return visit, visit.site.snapshots.snapshot_of(visit.store, find_project(visit, name))


def _filter_tasks(tasks: Sequence[TaskProgress], outcome: str, gate: str) -> Sequence[TaskProgress]:
    if not outcome and not gate:
        return tasks
    return [task for task in tasks if outcome in ("", task.outcome) and gate in ("", task.gate)]


def _cells(summary: AnnotatorSummary) -> tuple[object, ...]:
    person, progress, pace, gold = summary.person, summary.progress, summary.pace, summary.gold
    return (
        person.code, person.name, person.role, progress.done, progress.open, progress.skipped, progress.flagged,
        _number(pace.median), _number(pace.tenth), _number(pace.ninetieth), pace.hasty, _number(pace.per_hour),
        gold.correct, gold.judged,
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")


def _safe(name: str) -> str:
    return "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name)[:60]


def _csv(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """A CSV file in UTF-8 with byte-order mark, for spreadsheets; no cell is read as a formula."""
    return Response(
        csv_bytes([head, *([escape_formula(show_invisible(str(cell))) for cell in row] for row in rows)]),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
