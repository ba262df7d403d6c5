"""Assignments of tasks to people: their times, their drafts, and what people do with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from benchbuilder.annotation.database.connection import StoreBase
from benchbuilder.annotation.database.models import AnswerDraft, DraftOutcome, PageState, Person
from benchbuilder.annotation.database.page_state import PAGE_KEY, hash_draft, knows_draft
from benchbuilder.annotation.database.record_votes import AssignmentKey, record_event
from benchbuilder.annotation.database.sanitise import dump_json, load_json, storable_note, storable_text
from benchbuilder.annotation.database.schema import assignments, bounded_number, drafts, people, projects, tasks
from benchbuilder.annotation.database.users import is_project_member

PAUSE_LIMIT = timedelta(minutes=30)
"""A longer time without activity is a pause and does not count."""
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
    """The assignment of a task to `person`: its row with columns of the task and its draft.

    `lock` keeps others from changing task and assignment until the transaction ends. ``None`` if there is no such
    assignment, if the person's access was revoked, or if they do not work on the project.
    """
    query = (_LOCK_QUERIES if lock else _FIND_QUERIES)["task"]
    return _if_member(connection.execute(query, {"person": person.id, "task": bounded_number(task_id)}).first())


def _if_member(row: Any | None) -> Any | None:
    return row if row is not None and is_project_member(row.member_of, row.name) else None


def find_by_number(
    connection: Connection, person: Person, project: str, number: int, *, lock: bool = False
) -> Any | None:
    """The assignment with `number` in `project`, as `find_by_task` returns it."""
    query = (_LOCK_QUERIES if lock else _FIND_QUERIES)["number"]
    named = {"person": person.id, "project": project, "number": bounded_number(number)}
    return _if_member(connection.execute(query, named).first())


def find_by_id(connection: Connection, person: Person, id_: int, *, lock: bool = False) -> Any | None:
    """The assignment with the id `id_`, as `find_by_task` returns it."""
    query = (_LOCK_QUERIES if lock else _FIND_QUERIES)["id"]
    return _if_member(connection.execute(query, {"person": person.id, "id": id_}).first())


def assignment_key(row: Any) -> AssignmentKey:
    """The key of an assignment row."""
    return AssignmentKey(row.project_id, row.task_id, row.person_id)


def insert_assignment(connection: Connection, key: AssignmentKey) -> None:
    """Add an assignment that the person has not opened yet."""
    connection.execute(insert(assignments).values(**key._asdict(), live=True, state="open", flagged=False, note=""))


def update_assignment(connection: Connection, row: Any, **values: object) -> None:
    """Update columns of the assignment."""
    connection.execute(update(assignments).where(assignments.c.id == row.id).values(values))


# --- time


def seconds_since_alive(row: Any, now: datetime, *, count_pause: bool = False) -> float:
    """Seconds since the last activity; a pause counts 0, or the pause limit with `count_pause`."""
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
    """Record that the person looks at the task, with an event if they just opened it; return the updated columns."""
    if row.alive_at is None:
        record_event(connection, assignment_key(row), "open", now)
        values = {"opened_at": now, "alive_at": now, "spent": 0.0}
    else:
        values = {"alive_at": now, "spent": row.spent + seconds_since_alive(row, now)}
    update_assignment(connection, row, **values)
    return values


def closing_values(row: Any, now: datetime) -> dict[str, Any]:
    """The columns to update when the person leaves the task: the time spent, and that the clock stops."""
    seconds = row.spent + seconds_since_alive(row, now, count_pause=True)
    opened = row.opened_at or now
    return {"seconds": row.seconds + seconds, "spent": 0.0, "alive_at": None, "opened_at": opened}


def visit_seconds(row: Any, values: Mapping[str, Any]) -> float:
    """The seconds of this visit, by the result of `closing_values`."""
    return round(cast(float, values["seconds"]) - row.seconds, 3)


# --- drafts


def stored_draft(row: Any) -> AnswerDraft | None:
    """The draft of the assignment, if any."""
    if row.draft is None:
        return None
    data = load_json(row.draft)
    page = data.pop(PAGE_KEY, "")
    return AnswerDraft(data, row.saved_at, page)


def replace_draft(connection: Connection, row: Any, data: Mapping[str, str], now: datetime) -> None:
    """Replace the draft by `data`, whatever its size."""
    delete_draft(connection, row)
    connection.execute(insert(drafts).values(assignment_id=row.id, data=_draft_text(data), saved_at=now))


def _draft_text(data: Mapping[str, str]) -> str:
    return dump_json({storable_text(name): storable_text(value) for name, value in data.items()})


def delete_draft(connection: Connection, row: Any) -> None:
    """Delete the draft."""
    connection.execute(delete(drafts).where(drafts.c.assignment_id == row.id))


def delete_known_draft(connection: Connection, row: Any, seen: PageState | None) -> None:
    """Delete the draft, unless another page saved it and the page `seen` did not show it."""
    if seen is None or knows_draft(seen, _draft_now(connection, row)):
        delete_draft(connection, row)


def _draft_now(connection: Connection, row: Any) -> dict[str, str] | None:
    """The draft of a locked assignment: `row` may hold one from before the lock was granted."""
    text = connection.execute(select(drafts.c.data).where(drafts.c.assignment_id == row.id)).scalar()
    return None if text is None else load_json(text)


class AssignmentStore(StoreBase):
    """What annotators and adjudicators do with their tasks besides answering them."""

    def find_own_task(self, person: Person, project: str, key: str) -> tuple[int, bool] | None:
        """Id of the task with the key `key` if it is or was theirs, and whether it still is theirs and live."""
        named = {"person": person.id, "project": project, "key": storable_text(key)}
        with self._transactions.reading() as connection:
            row = connection.execute(_FIND_QUERIES["key"], named).first()
        return None if row is None else (row.task_id, bool(row.live and row.task_live and _if_member(row)))

    def save_draft(
        self, person: Person, task_id: int, data: Mapping[str, str], seen: PageState | None = None
    ) -> DraftOutcome:
        """Save entered answers as a draft; the first of two pages that started from the same draft wins.

        Without `seen`, it replaces any draft. Tasks that were retired or assigned to others keep their drafts, in case
        they return.
        """
        if len(_draft_text(data).encode()) > _MAX_DRAFT_BYTES:
            return "too_big"
        now, named = self._clock(), {"person": person.id, "task": bounded_number(task_id)}
        with self._transactions.writing() as connection:
            row = connection.execute(_LOCK_QUERIES["task"], named).first()
            if row is None:
                return "foreign"
            if seen is not None:
                stored = _draft_now(connection, row)
                if not knows_draft(seen, stored) and hash_draft(stored or {}) != hash_draft(data):
                    return "overtaken"
                data = {**data, PAGE_KEY: seen.page} if seen.page else data
            replace_draft(connection, row, data, now)
            spent = row.spent + seconds_since_alive(row, now)
            values = {"alive_at": now, "spent": spent} if row.alive_at is not None else {}
            update_assignment(connection, row, opened_at=row.opened_at or now, **values)
            return "kept"

    def skip(self, person: Person, task_id: int) -> bool:
        """Skip a task until the others are done; ``False`` if it is not theirs. A finished task stays finished."""
        now = self._clock()
        with self._transactions.writing() as connection:
            row = find_by_task(connection, person, task_id, lock=True)
            if row is None or not row.live:
                return False
            if row.state != "done":
                values = closing_values(row, now)
                record_event(connection, assignment_key(row), "skip", now, seconds=visit_seconds(row, values))
                update_assignment(connection, row, state="skipped", **values)
            return True

    def flag(self, person: Person, task_id: int, flagged: bool, reason: str = "") -> bool:
        """Flag a task for the project owner, or remove the flag; ``False`` if it is not theirs."""
        now = self._clock()
        with self._transactions.writing() as connection:
            row = find_by_task(connection, person, task_id, lock=True)
            if row is None or not row.live:
                return False
            if row.flagged != flagged:
                detail = {"why": storable_note(reason)} if reason.strip() else {}
                record_event(connection, assignment_key(row), "flag" if flagged else "unflag", now, detail=detail)
                update_assignment(connection, row, flagged=flagged, opened_at=row.opened_at or now)
            return True
