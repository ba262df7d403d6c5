"""Actions of annotators: list, open, submit and undo tasks. Every query is limited to their own rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database import sanitise
from benchbuilder.annotation.database.models import (
    Assignment,
    ListedAssignment,
    Person,
    Progress,
    Submission,
    SubmissionOutcome,
)
from benchbuilder.annotation.database.projects import ProjectRef, blind_task_from_row, find_project_ref
from benchbuilder.annotation.database.record_votes import (
    load_values,
    record_event,
    record_votes,
    same_value,
    update_disputes,
)
from benchbuilder.annotation.database.sanitise import load_json, storable_note, storable_text
from benchbuilder.annotation.database.schema import (
    IS_FLAGGED,
    assignments,
    bounded_number,
    drafts,
    events,
    projects,
    tasks,
)
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.annotation.values import is_allowed_value

_PROJECT = select(projects.c.id).where(projects.c.name == bindparam("project")).scalar_subquery()
_THEIRS = (assignments.c.person_id == bindparam("person")) & (assignments.c.project_id == _PROJECT)
_NEXT = [
    select(func.min(assignments.c.place)).where(
        _THEIRS, assignments.c.live, assignments.c.state == bindparam("state"), condition
    )
    for condition in (assignments.c.place > bindparam("after"), assignments.c.place <= bindparam("after"))
]
_TOTAL = select(func.max(assignments.c.place)).where(_THEIRS)
_MINE = select(func.count()).select_from(assignments).where(_THEIRS, assignments.c.live)
_COUNTS = select(
    _TOTAL.scalar_subquery(),
    _MINE.where(assignments.c.state == "done").scalar_subquery(),
    _MINE.where(assignments.c.state == "skipped").scalar_subquery(),
    _MINE.where(IS_FLAGGED).scalar_subquery(),
)
_MIDDLE_SECONDS = (
    select(assignments.c.seconds)
    .where(_THEIRS, assignments.c.live, assignments.c.state == "done")
    .order_by(assignments.c.seconds)
    .offset(bindparam("skipped"))
    .limit(bindparam("most"))
)
_LAST_DONE = (
    select(assignments.c.id)
    .join(events, events.c.id == assignments.c.done_event)
    .where(_THEIRS, assignments.c.done_event.is_not(None), assignments.c.live, assignments.c.state == "done")
    .where(events.c.kind == "submit")
    .order_by(assignments.c.done_event.desc())
    .limit(1)
)


def next_number(connection: Connection, person: Person, project: str, after: int) -> int | None:
    """The first open task after number `after`, else the first open one, else the same of skipped ones."""
    named = {"person": person.id, "project": project, "after": bounded_number(after)}
    for state in ("open", "skipped"):
        for query in _NEXT:
            number = connection.execute(query, {**named, "state": state}).scalar()
            if number is not None:
                return int(number)
    return None


def make_assignment(connection: Connection, person: Person, row: Any, updates: Mapping[str, Any]) -> Assignment:
    """The assignment of a row of `assignments.find_by_number`; `updates` are columns that changed since."""
    columns = {**row._mapping, **updates}
    total = connection.execute(_TOTAL, {"person": person.id, "project": row.name}).scalar()
    return Assignment(
        id=row.id,
        project=row.name,
        task=blind_task_from_row(row),
        task_id=row.task_id,
        number=row.place,
        total=int(total or 0),
        state=row.state,
        flagged=row.flagged,
        answers=load_values(connection, assignment_queries.assignment_key(row)),
        note=row.note,
        draft=assignment_queries.stored_draft(row),
        opened_at=columns["opened_at"],
        seconds=round(columns["seconds"] + (0.0 if row.state == "done" else columns["spent"]), 3),
    )


def list_assignments(
    connection: Connection, person: Person, project: str, state: str, start: int, count: int
) -> list[ListedAssignment]:  # fmt: skip
    """Their tasks from number `start` on."""
    columns = (assignments.c.place, assignments.c.task_id, assignments.c.state, assignments.c.flagged)
    query = select(*columns, tasks.c.shown, drafts.c.assignment_id.label("draft"))
    query = query.join(tasks, tasks.c.id == assignments.c.task_id)
    query = query.outerjoin(drafts, drafts.c.assignment_id == assignments.c.id)
    query = query.where(_THEIRS, assignments.c.place >= bounded_number(start))
    if state == "flagged":
        query = query.where(assignments.c.flagged)
    elif state:
        query = query.where(assignments.c.live, assignments.c.state == state)
    query = query.order_by(assignments.c.place).limit(bounded_number(count))
    rows = connection.execute(query, {"person": person.id, "project": project})
    return [
        ListedAssignment(
            row.place,
            row.task_id,
            row.state,
            row.flagged,
            row.draft is not None,
            load_json(row.shown)["fields"][0][1],
        )
        for row in rows
    ]


def annotator_progress(connection: Connection, person: Person, project: str) -> Progress:
    """An annotator's progress.

    Numbers have no gaps, so open tasks are calculated and not counted.
    """
    total, done, skipped, flagged = connection.execute(_COUNTS, {"person": person.id, "project": project}).one()
    return Progress(
        done=done,
        open=(total or 0) - done - skipped if person.role == "annotator" else 0,
        skipped=skipped,
        flagged=flagged,
        median_seconds=median_seconds(connection, person, project, done),
    )


def median_seconds(connection: Connection, person: Person, project: str, done: int) -> float | None:
    """The median seconds of their finished tasks; `done` is how many there are."""
    if not done:
        return None
    named = {"person": person.id, "project": project, "skipped": (done - 1) // 2, "most": 2 - done % 2}
    middle = connection.scalars(_MIDDLE_SECONDS, named).all()
    return round(sum(middle) / len(middle), 3) if middle else None


# --- submit and undo


def check_submission(
    project: ProjectRef, requests: Mapping[Subject, JudgementRequest], values: Mapping[Subject, Value]
) -> SubmissionOutcome:
    """Check that `values` answer every required request, and nothing else."""
    questions = project.spec.questions_about()
    if any(subject not in requests for subject in values):
        return "retired"
    if not all(is_allowed_value(questions[requests[subject].question], value) for subject, value in values.items()):
        return "incomplete"
    needed = (subject for subject, what in requests.items() if questions[what.question].required)
    return "kept" if all(subject in values for subject in needed) else "incomplete"


def sanitise_values(values: Mapping[Subject, Value]) -> dict[Subject, Value]:
    """`values` as they are stored: 1 and not 1.0, and storable texts."""
    return {subject: _sanitise_value(value) for subject, value in values.items()}


def _sanitise_value(value: Value) -> Value:
    if isinstance(value, str):
        return storable_text(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def vote_changes(old: Mapping[Subject, Value], new: Mapping[Subject, Value]) -> dict[Subject, Value | None]:
    """The changes from the votes `old` to `new`; ``None`` withdraws a vote."""
    changes: dict[Subject, Value | None] = {s: v for s, v in new.items() if not same_value(old.get(s), v)}
    return changes | {subject: None for subject in old if subject not in new}


def submit_answers(
    connection: Connection, person: Person, task_id: int, submission: Submission, now: datetime
) -> SubmissionOutcome:  # fmt: skip
    """Save votes on a task. A repeated submission without changes, and without opening the task again, counts once."""
    row = assignment_queries.find_by_task(connection, person, task_id, lock=True)
    if row is None or row.role != "annotator":
        return "foreign"
    work = find_project_ref(connection, row.project_id)
    if work is None or not (row.task_live and row.live):
        return "retired"
    asked, values = work.judgement_requests(blind_task_from_row(row)), sanitise_values(submission.values)
    outcome = check_submission(work, asked, values)
    if outcome != "kept":
        return outcome
    place, note = assignment_queries.assignment_key(row), storable_note(submission.note)
    old = {subject: value for subject, value in load_values(connection, place).items() if subject in asked}
    new = vote_changes(old, values)
    if row.state == "done" and row.alive_at is None and not new and note == row.note:
        return "kept"
    times = assignment_queries.closing_values(row, now)
    event = record_event(
        connection, place, "submit", now, seconds=assignment_queries.visit_seconds(row, times),
        active=submission.active_seconds, detail={"note": note} if note else {},
    )  # fmt: skip
    record_votes(connection, place, event, new, {s: what.question for s, what in asked.items()}, channel="app", now=now)
    assignment_queries.delete_draft(connection, row)
    assignment_queries.update_assignment(connection, row, state="done", note=note, done_event=event, **times)
    if new:
        update_task_disputes(connection, work, task_id)
    return "kept"


def update_task_disputes(connection: Connection, project: ProjectRef, task_id: int) -> None:
    """Update the disputes of a task."""
    update_disputes(connection, project, connection.execute(select(tasks).where(tasks.c.id == task_id)).all())


def last_submission(connection: Connection, person: Person, project: str) -> Any | None:
    """The assignment of their last submission in the app."""
    while True:
        id_ = connection.execute(_LAST_DONE, {"person": person.id, "project": project}).scalar()
        row = None if id_ is None else assignment_queries.find_by_id(connection, person, id_)
        if row is None or (row.live and row.state == "done" and row.done_event is not None):
            return row
        # Another request withdrew it while this one waited for the lock.


def withdraw_submission(
    connection: Connection, row: Any, requests: Mapping[Subject, JudgementRequest], now: datetime
) -> None:
    """Undo a submission: withdraw its votes, and keep them in the draft.

    Imported votes stay. The draft also keeps answers to questions that are not asked at the moment, so that they are
    in the form when the questions return.
    """
    detail = connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one()
    place = assignment_queries.assignment_key(row)
    held = load_values(connection, place)
    old = [subject for subject in load_values(connection, place, channel="app") if subject in requests]
    times = assignment_queries.closing_values(row, now)
    undone = {"undone": row.done_event}
    event = record_event(
        connection, place, "undo", now, seconds=assignment_queries.visit_seconds(row, times), detail=undone
    )
    none = dict.fromkeys(old, None)
    record_votes(connection, place, event, none, {s: requests[s].question for s in old}, channel="app", now=now)
    assignment_queries.replace_draft(connection, row, sanitise.make_draft_data(held, row.note, load_json(detail)), now)
    assignment_queries.update_assignment(connection, row, state="open", note="", done_event=None, **times)


def undo_last(connection: Connection, person: Person, project: str, now: datetime) -> Any | None:
    """Withdraw the last submission; return its assignment."""
    row = last_submission(connection, person, project)
    work = find_project_ref(connection, row.project_id) if row is not None else None
    if row is None or work is None:
        return None
    withdraw_submission(connection, row, work.judgement_requests(blind_task_from_row(row)), now)
    update_task_disputes(connection, work, row.task_id)
    return row
