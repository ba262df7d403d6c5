"""What one person holds of one task: their assignment with its times, its draft, and what they do to it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from benchbuilder.annotation.database.models import AnswerDraft, Person
from benchbuilder.annotation.database.record_votes import AssignmentKey, record_event
from benchbuilder.annotation.database.sanitise import dump_json, load_json, storable_note, storable_text
from benchbuilder.annotation.database.schema import assignments, bounded_number, drafts, people, projects, tasks
from benchbuilder.annotation.database.users import is_project_member

PAUSE_LIMIT = timedelta(minutes=30)
"""A longer time without a sign of life was spent elsewhere."""
_NOTED_EVERY = timedelta(minutes=1)
_MAX_DRAFT_BYTES = 900_000


_CONDITIONS = {
    "task": assignments.c.task_id == bindparam("task"),
    "number": (projects.c.name == bindparam("project")) & (assignments.c.place == bindparam("number")),
    "id": assignments.c.id == bindparam("id"),
    "key": (projects.c.name == bindparam("project")) & (tasks.c.key == bindparam("key")),
}
_ASSIGNMENT_ROWS = (
    select(
        assignments, tasks.c.key, tasks.c.shown, tasks.c.gold, tasks.c.live.label("task_live"), people.c.role,
        people.c.projects.label("member_of"), projects.c.name, drafts.c.data.label("draft"), drafts.c.saved_at,
    )
    .join(tasks, tasks.c.id == assignments.c.task_id)
    .join(people, people.c.id == assignments.c.person_id)
    .join(projects, projects.c.id == assignments.c.project_id)
    .outerjoin(drafts, drafts.c.assignment_id == assignments.c.id)
    .where(assignments.c.person_id == bindparam("person"), people.c.revoked.is_(False))
)  # fmt: skip
_FIND_QUERIES = {by: _ASSIGNMENT_ROWS.where(condition) for by, condition in _CONDITIONS.items()}
_LOCK_QUERIES = {by: query.with_for_update(of=(tasks, assignments)) for by, query in _FIND_QUERIES.items()}


def find_by_task(connection: Connection, person: Person, task_id: int, *, lock: bool = False) -> Any | None:
    """The assignment of a task to `person`: its row with the task's ``key``, ``shown`` and ``task_live``
    and the draft.

    With `lock`, nobody else changes task or assignment until the transaction ends. ``None`` if there is none, or if
    `person` was shut out, or does not work on the project (any more).
    """
    query = (_LOCK_QUERIES if lock else _FIND_QUERIES)["task"]
    return _if_member(connection.execute(query, {"person": person.id, "task": bounded_number(task_id)}).first())


def _if_member(row: Any | None) -> Any | None:
    return row if row is not None and is_project_member(row.member_of, row.name) else None


def find_by_number(
    connection: Connection, person: Person, project: str, number: int, *, lock: bool = False
) -> Any | None:  # fmt: skip
    """The same, of what they have under `number` in `project`."""
    query = (_LOCK_QUERIES if lock else _FIND_QUERIES)["number"]
    named = {"person": person.id, "project": project, "number": bounded_number(number)}
    return _if_member(connection.execute(query, named).first())


def find_by_id(connection: Connection, person: Person, id_: int) -> Any | None:
    """The same, by the id of the assignment, and locked."""
    return _if_member(connection.execute(_LOCK_QUERIES["id"], {"person": person.id, "id": id_}).first())


def find_own_task(connection: Connection, person: Person, project: str, key: str) -> tuple[int, bool] | None:
    """Id of the task with that key if it is or was theirs, and whether it still is, and is asked."""
    row = connection.execute(
        _FIND_QUERIES["key"], {"person": person.id, "project": project, "key": storable_text(key)}
    ).first()
    return None if row is None else (row.task_id, bool(row.live and row.task_live and _if_member(row)))


def assignment_key(row: Any) -> AssignmentKey:
    """Who is at work on what, of a row that `find_by_task` found."""
    return AssignmentKey(row.project_id, row.task_id, row.person_id)


def update_assignment(connection: Connection, row: Any, **values: object) -> None:
    """Write `values` into the assignment."""
    connection.execute(update(assignments).where(assignments.c.id == row.id).values(values))


# --- time


def seconds_since_alive(row: Any, now: datetime, *, count_pause: bool = False) -> float:
    """Seconds from the last sign of life until now; if that was a pause none, or with `count_pause` as much as may count."""
    if row.alive_at is None:
        return 0.0
    gap = max(now - row.alive_at, timedelta())
    if gap > PAUSE_LIMIT:
        return PAUSE_LIMIT.total_seconds() if count_pause else 0.0
    return gap.total_seconds()


def needs_opening(row: Any, now: datetime) -> bool:
    """Whether `open_assignment` has something to write."""
    return row.alive_at is None or now - row.alive_at >= _NOTED_EVERY


def open_assignment(connection: Connection, row: Any, now: datetime) -> dict[str, Any]:
    """They look at the task: an event unless they were at it already. What was written."""
    if row.alive_at is None:
        record_event(connection, assignment_key(row), "open", now)
        values = {"opened_at": now, "alive_at": now, "spent": 0.0}
    else:
        values = {"alive_at": now, "spent": row.spent + seconds_since_alive(row, now)}
    update_assignment(connection, row, **values)
    return values


def closing_values(row: Any, now: datetime) -> dict[str, Any]:
    """What is to be written when they are through with the task for now: the time, and that they are not at it."""
    seconds = row.spent + seconds_since_alive(row, now, count_pause=True)
    opened = row.opened_at or now
    return {"seconds": row.seconds + seconds, "spent": 0.0, "alive_at": None, "opened_at": opened}


def visit_seconds(row: Any, values: Mapping[str, Any]) -> float:
    """How long they were at it this time, with what `closing_values` said."""
    return round(cast(float, values["seconds"]) - row.seconds, 3)


# --- drafts


def stored_draft(row: Any) -> AnswerDraft | None:
    """What they entered and have not submitted."""
    return None if row.draft is None else AnswerDraft(load_json(row.draft), row.saved_at)


def replace_draft(connection: Connection, row: Any, data: Mapping[str, str], now: datetime) -> None:
    """Keep `data` instead of what was kept, however large it is."""
    delete_draft(connection, row)
    connection.execute(insert(drafts).values(assignment_id=row.id, data=_draft_text(data), saved_at=now))


def _draft_text(data: Mapping[str, str]) -> str:
    return dump_json({storable_text(name): storable_text(value) for name, value in data.items()})


def delete_draft(connection: Connection, row: Any) -> None:
    """Forget the draft."""
    connection.execute(delete(drafts).where(drafts.c.assignment_id == row.id))


# --- what annotators and adjudicators may both do


def save_draft(connection: Connection, person: Person, task_id: int, data: Mapping[str, str], now: datetime) -> bool:
    """Keep what they entered, even if the task is not asked any more, or has gone to others: it may come back."""
    if len(_draft_text(data).encode()) > _MAX_DRAFT_BYTES:
        return False
    row = connection.execute(_LOCK_QUERIES["task"], {"person": person.id, "task": bounded_number(task_id)}).first()
    if row is None:
        return False
    replace_draft(connection, row, data, now)
    values = {"alive_at": now, "spent": row.spent + seconds_since_alive(row, now)} if row.alive_at is not None else {}
    update_assignment(connection, row, opened_at=row.opened_at or now, **values)
    return True


def skip_assignment(connection: Connection, person: Person, task_id: int, now: datetime) -> bool:
    """Put the task off; one that they are done with stays done."""
    row = find_by_task(connection, person, task_id, lock=True)
    if row is None or not row.live:
        return False
    if row.state != "done":
        values = closing_values(row, now)
        record_event(connection, assignment_key(row), "skip", now, seconds=visit_seconds(row, values))
        update_assignment(connection, row, state="skipped", **values)
    return True


def flag_assignment(
    connection: Connection, person: Person, task_id: int, flagged: bool, reason: str, now: datetime
) -> bool:
    """Mark the task for the lead, or take the mark away."""
    row = find_by_task(connection, person, task_id, lock=True)
    if row is None or not row.live:
        return False
    if row.flagged != flagged:
        detail = {"why": storable_note(reason)} if reason.strip() else {}
        record_event(connection, assignment_key(row), "flag" if flagged else "unflag", now, detail=detail)
        update_assignment(connection, row, flagged=flagged, opened_at=row.opened_at or now)
    return True
