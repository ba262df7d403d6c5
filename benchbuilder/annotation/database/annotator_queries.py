"""What annotators do: look at their tasks, submit, take back. Every query is limited to their own rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database import assignments as holding
from benchbuilder.annotation.database import sanitise
from benchbuilder.annotation.database.models import Assignment, Listed, Outcome, Person, Progress, Submission
from benchbuilder.annotation.database.projects import Work, blind_task_of, find_work
from benchbuilder.annotation.database.record_votes import cast, note_event, same, settle, values_of
from benchbuilder.annotation.database.sanitise import load, short, storable
from benchbuilder.annotation.database.schema import FLAGGED, assignments, bounded, drafts, events, projects, tasks
from benchbuilder.annotation.tasks import Asked
from benchbuilder.annotation.values import allowed

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
    _MINE.where(FLAGGED).scalar_subquery(),
)
_MIDDLE = (
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
    """The first open task after number `after`, the first open one, then the same of those put off."""
    named = {"person": person.id, "project": project, "after": bounded(after)}
    for state in ("open", "skipped"):
        for query in _NEXT:
            number = connection.execute(query, {**named, "state": state}).scalar()
            if number is not None:
                return int(number)
    return None


def as_assignment(connection: Connection, person: Person, row: Any, changed: Mapping[str, Any]) -> Assignment:
    """What `assignments.find_number` found, as its annotator has it; `changed` is what was written since."""
    told = {**row._mapping, **changed}
    total = connection.execute(_TOTAL, {"person": person.id, "project": row.name}).scalar()
    return Assignment(
        id=row.id,
        project=row.name,
        task=blind_task_of(row),
        task_id=row.task_id,
        number=row.place,
        total=int(total or 0),
        state=row.state,
        flagged=row.flagged,
        answers=values_of(connection, holding.place_of(row)),
        note=row.note,
        draft=holding.draft_of(row),
        opened_at=told["opened_at"],
        seconds=round(told["seconds"] + (0.0 if row.state == "done" else told["spent"]), 3),
    )


def listing(
    connection: Connection, person: Person, project: str, state: str, start: int, count: int
) -> list[Listed]:  # fmt: skip
    """Their tasks from number `start` on."""
    columns = (assignments.c.place, assignments.c.task_id, assignments.c.state, assignments.c.flagged)
    query = select(*columns, tasks.c.shown, drafts.c.assignment_id.label("draft"))
    query = query.join(tasks, tasks.c.id == assignments.c.task_id)
    query = query.outerjoin(drafts, drafts.c.assignment_id == assignments.c.id)
    query = query.where(_THEIRS, assignments.c.place >= bounded(start))
    if state == "flagged":
        query = query.where(assignments.c.flagged)
    elif state:
        query = query.where(assignments.c.live, assignments.c.state == state)
    query = query.order_by(assignments.c.place).limit(bounded(count))
    rows = connection.execute(query, {"person": person.id, "project": project})
    return [
        Listed(row.place, row.task_id, row.state, row.flagged, row.draft is not None, load(row.shown)["fields"][0][1])
        for row in rows
    ]


def progress(connection: Connection, person: Person, project: str) -> Progress:
    """How far they are.

    Numbers go from 1 to the last without gaps, so that what is open need not be counted, however much it is.
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
    """The median time of what they are done with, of which there are `done`."""
    if not done:
        return None
    named = {"person": person.id, "project": project, "skipped": (done - 1) // 2, "most": 2 - done % 2}
    middle = connection.scalars(_MIDDLE, named).all()
    return round(sum(middle) / len(middle), 3) if middle else None


# --- submit and undo


def checked(work: Work, asked: Mapping[Subject, Asked], values: Mapping[Subject, Value]) -> Outcome:
    """Whether `values` answer all that has to be, and nothing but what is `asked`."""
    questions = work.spec.asked()
    if any(subject not in asked for subject in values):
        return "retired"
    if not all(allowed(questions[asked[subject].question], value) for subject, value in values.items()):
        return "incomplete"
    needed = (subject for subject, what in asked.items() if questions[what.question].required)
    return "kept" if all(subject in values for subject in needed) else "incomplete"


def cleaned(values: Mapping[Subject, Value]) -> dict[Subject, Value]:
    """`values` as they are stored: 1 rather than 1.0, and text without what no database takes."""
    return {subject: _cleaned(value) for subject, value in values.items()}


def _cleaned(value: Value) -> Value:
    if isinstance(value, str):
        return storable(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def changes(old: Mapping[Subject, Value], new: Mapping[Subject, Value]) -> dict[Subject, Value | None]:
    """What turns the votes `old` into `new`."""
    found: dict[Subject, Value | None] = {s: v for s, v in new.items() if not same(old.get(s), v)}
    return found | {subject: None for subject in old if subject not in new}


def submit(
    connection: Connection, person: Person, task_id: int, submission: Submission, now: datetime
) -> Outcome:  # fmt: skip
    """Keep their votes about a task. Handing in the same twice, without having looked at it again, is once."""
    row = holding.find(connection, person, task_id, lock=True)
    if row is None or row.role != "annotator":
        return "foreign"
    work = find_work(connection, row.project_id)
    if work is None or not (row.task_live and row.live):
        return "retired"
    asked, values = work.asked(blind_task_of(row)), cleaned(submission.values)
    outcome = checked(work, asked, values)
    if outcome != "kept":
        return outcome
    place, note = holding.place_of(row), short(submission.note)
    old = {subject: value for subject, value in values_of(connection, place).items() if subject in asked}
    new = changes(old, values)
    if row.state == "done" and row.alive_at is None and not new and note == row.note:
        return "kept"
    times = holding.closed(row, now)
    event = note_event(
        connection, place, "submit", now, seconds=holding.seconds_of(row, times),
        active=submission.active_seconds, detail={"note": note} if note else {},
    )  # fmt: skip
    cast(connection, place, event, new, {s: what.question for s, what in asked.items()}, door="app", now=now)
    holding.drop_draft(connection, row)
    holding.change(connection, row, state="done", note=note, done_event=event, **times)
    if new:
        settle_one(connection, work, task_id)
    return "kept"


def settle_one(connection: Connection, work: Work, task_id: int) -> None:
    """Bring the dispute state of a task up to date."""
    settle(connection, work, connection.execute(select(tasks).where(tasks.c.id == task_id)).all())


def last_done(connection: Connection, person: Person, project: str) -> Any | None:
    """The assignment that they were done with last, by what they submitted in the app."""
    while True:
        id_ = connection.execute(_LAST_DONE, {"person": person.id, "project": project}).scalar()
        row = None if id_ is None else holding.find_assignment(connection, person, id_)
        if row is None or (row.live and row.state == "done" and row.done_event is not None):
            return row
        # Somebody else took it back while this waited for the lock.


def take_back(connection: Connection, row: Any, asked: Mapping[Subject, Asked], now: datetime) -> None:
    """Undo a submit: the votes are taken back, and stand in the draft.

    What was imported stays. The draft also holds answers to what is not asked for the time being: they would
    otherwise be missing from the form when it is asked again.
    """
    detail = connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one()
    place = holding.place_of(row)
    held = values_of(connection, place)
    old = [subject for subject in values_of(connection, place, door="app") if subject in asked]
    times = holding.closed(row, now)
    undone = {"undone": row.done_event}
    event = note_event(connection, place, "undo", now, seconds=holding.seconds_of(row, times), detail=undone)
    none = dict.fromkeys(old, None)
    cast(connection, place, event, none, {s: asked[s].question for s in old}, door="app", now=now)
    holding.keep_draft(connection, row, sanitise.draft_of(held, row.note, load(detail)), now)
    holding.change(connection, row, state="open", note="", done_event=None, **times)


def undo(connection: Connection, person: Person, project: str, now: datetime) -> Any | None:
    """Take back what they submitted last; the assignment."""
    row = last_done(connection, person, project)
    work = find_work(connection, row.project_id) if row is not None else None
    if row is None or work is None:
        return None
    take_back(connection, row, work.asked(blind_task_of(row)), now)
    settle_one(connection, work, row.task_id)
    return row
