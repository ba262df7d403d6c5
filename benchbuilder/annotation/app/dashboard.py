"""Pages of the project owner: completion, agreement, outcomes, and the work of each annotator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from benchbuilder.annotation.app.pages import find_project
from benchbuilder.annotation.app.progress_cache import ProjectSnapshot
from benchbuilder.annotation.app.sessions import Visit, require_visit
from benchbuilder.annotation.database.models import GoldAccuracy, Person, PersonProgress, Progress
from benchbuilder.annotation.gates import EVIDENCE_GATE
from benchbuilder.annotation.progress.agreement import AGREEMENT_MEASURES, AgreementFigure, QuestionAgreement
from benchbuilder.annotation.progress.project import ProjectProgress, TaskOutcome, TaskProgress
from benchbuilder.annotation.sheets.sheets import csv_bytes, escape_formula
from benchbuilder.config import ProjectSpec
from benchbuilder.core import PageTexts, floor_lead, floor_reason, floor_word, show_invisible

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


@dataclass(frozen=True)
class WorkPace:
    """Seconds that `tasks` finished tasks took: the median, the 10th and the 90th percentile (``None`` without any).

    `hasty` counts tasks that took less than the recipe's minimum; `per_hour` is tasks per hour of work.
    """

    tasks: int
    median: float | None
    tenth: float | None
    ninetieth: float | None
    hasty: int
    per_hour: float | None


def measure_pace(seconds: Sequence[float], min_seconds: int | None) -> WorkPace:
    """Measure the pace; `min_seconds` is the recipe's minimum time in seconds, if any."""
    hasty = sum(taken < min_seconds for taken in seconds) if min_seconds is not None else 0
    if not seconds:
        return WorkPace(0, None, None, None, hasty, None)
    tenth, median, ninetieth = (float(value) for value in np.percentile(seconds, (10, 50, 90)))
    total = sum(seconds)
    return WorkPace(len(seconds), median, tenth, ninetieth, hasty, len(seconds) * 3600 / total if total else None)


_PERCENT_MEASURES = ("percent", "within_tolerance")
_DASH = "–"


@dataclass(frozen=True)
class AnnotatorSummary:
    """A person with their counts, their pace, and their accuracy on gold tasks."""

    person: Person
    progress: Progress
    pace: WorkPace
    gold: GoldAccuracy


def annotator_summaries(people: Iterable[PersonProgress], spec: ProjectSpec) -> list[AnnotatorSummary]:
    """Summaries of annotators, and of adjudicators if the project has adjudication."""
    roles = ("annotator", "adjudicator") if spec.rule != "mean" else ("annotator",)
    return [
        AnnotatorSummary(work.person, work.progress, measure_pace(work.seconds, spec.min_seconds), work.gold)
        for work in people
        if work.person.role in roles
    ]


def measure_columns(rows: Iterable[QuestionAgreement]) -> list[str]:
    """The measures that a table of `rows` has columns for."""
    present = {name for row in rows for name in row.measures}
    return [name for name in AGREEMENT_MEASURES if name in present]


class DashboardTexts:
    """Figures, gates and reasons as texts of one language."""

    def __init__(self, texts: PageTexts, spec: ProjectSpec) -> None:
        self._t, self._questions = texts, spec.questions_about()

    def gate_label(self, name: str) -> str:
        """The label of a gate: that of its question."""
        if name == EVIDENCE_GATE:
            return self._t("lead.gate_evidence")
        question = self._questions.get(name)
        return name if question is None else question.label

    def outcome_reason(self, task: TaskProgress) -> str:
        """Why a task is dropped, or what is still missing."""
        if task.outcome == "open":
            parts = [("lead.missing_votes", task.missing_votes), ("lead.missing_decisions", task.missing_decisions)]
            return self._t("lead.and").join(self._t(key, n=n) for key, n in parts if n)
        if task.outcome != "dropped" or task.decision is None or task.required_decision is None:
            return ""
        exact = task.gate in self._questions and self._questions[task.gate].answer == "binary"
        key = "lead.because_exact" if exact else "lead.because_least"
        return self._t(
            key, gate=self.gate_label(task.gate), decided=f"{task.decision:.4g}", needed=f"{task.required_decision:g}"
        )

    @staticmethod
    def outcome_key(progress: ProjectProgress, outcome: TaskOutcome) -> str:
        """The text key of an outcome: without gates, tasks are not ``kept`` but ``judged``."""
        return "judged" if outcome == "kept" and not progress.has_gates else outcome

    @staticmethod
    def measure_key(row: QuestionAgreement, name: str) -> str:
        """The text key of a measure of `row`: there are two kinds of kappa."""
        return f"kappa_{row.kappa_kind}" if name == "kappa" else name

    def format_value(self, name: str, figure: AgreementFigure) -> str:
        """A measure as a number, or the reason why it is undefined."""
        if figure.value is None:
            return self._t(f"lead.why.{figure.undefined_reason}", only=f"{figure.only_value or 0:g}")
        return self._number(name, figure.value)

    def format_interval(self, name: str, figure: AgreementFigure) -> str:
        """The interval of a measure, or why it is missing; empty if the measure itself is undefined."""
        if figure.value is None:
            return ""
        if figure.low is None or figure.high is None:
            return self._t(f"lead.without.{figure.missing_interval_reason}")
        return f"{self._number(name, figure.low)} {_DASH} {self._number(name, figure.high)}"

    def floor_word(self, row: QuestionAgreement) -> str:
        """Where the agreement on a question stands against the floor; – without one."""
        return _DASH if row.standing is None else floor_word(self._t, row.standing)

    def floor_reason(self, row: QuestionAgreement) -> str:
        """Why; empty if the floor is reached."""
        return "" if row.standing is None else floor_reason(self._t, row.standing)

    def floor_lead(self, spec: ProjectSpec) -> str:
        """What the floor is; empty without one."""
        floor = spec.floor
        return "" if floor.alpha is None and floor.raw is None else floor_lead(self._t, floor.alpha, floor.raw)

    def paradox_text(self, row: QuestionAgreement) -> str:
        """Explain with the figures of `row` why kappa is low although people agree."""
        answer, proportion = row.most_common or (0.0, 0.0)
        return self._t(
            "lead.paradox",
            label=row.question.label,
            percent=self.format_value("percent", row.measures["percent"]),
            kappa=self.format_value("kappa", row.measures["kappa"]),
            gwet=self.format_value("ac1", row.measures["ac1"]),
            answer=f"{answer:g}",
            share=f"{proportion * 100:.0f} %",
        )

    @staticmethod
    def percentage(part: float, whole: float) -> str:
        """A part of a whole as integer per cent; 0 and 100 only if exact."""
        if not whole:
            return _DASH
        percent = round(100 * part / whole)
        percent = max(percent, 1) if part else 0
        return f"{min(percent, 99) if part < whole else 100} %"

    @staticmethod
    def bar_width(part: float, whole: float) -> str:
        """A part of a whole as the width of a bar that is 100 wide."""
        return f"{100 * part / whole:.2f}" if whole else "0"

    @staticmethod
    def _number(name: str, value: float) -> str:
        if name in _PERCENT_MEASURES:
            return f"{value * 100:.1f} %"
        return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\N{MINUS SIGN}")
