"""Laying out the tasks of a project: new ones come in, others are retired, changed ones are asked again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.database import bulk
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.database.projects import Work, find_work, save_project, task_of, task_values
from benchbuilder.annotation.database.record_votes import Place, settle, values_of
from benchbuilder.annotation.database.sanitise import as_typed, dump, field_name, load
from benchbuilder.annotation.database.schema import assignments, current, drafts, people, projects, tasks


def lay_out(connection: Connection, project: Project, wanted: Sequence[Task], now: datetime) -> Work:
    """Keep `project`, and ask just the `wanted` tasks; of two with one key the first. Tasks keep their ids."""
    before = find_work(connection, project.name)
    work, changed = save_project(connection, project, now)
    old = {row.key: row for row in _rows(connection, work)}
    new: dict[str, dict[str, Any]] = {}
    for ordinal, task in enumerate(wanted):
        new.setdefault(task.key, {**task_values(task), "ordinal": ordinal, "live": True})
    state = {"project_id": work.id, "open_disputes": 0, "agreement": 1.0}
    bulk.add(connection, tasks, [{**values, **state} for key, values in new.items() if key not in old])
    moved = {key for key, values in new.items() if key in old and _differs(old[key], values)}
    bulk.change(connection, tasks, [{"id": old[key].id, **new[key]} for key in sorted(moved)])
    retired = [row.id for key, row in old.items() if row.live and key not in new]
    gone = {"live": False, "open_disputes": 0, "agreement": 1.0}
    bulk.change(connection, tasks, [{"id": id_, **gone} for id_ in retired])
    _ask_again(connection, work, None if changed else {old[key].id for key in moved})
    if before is not None and (changed or moved):
        _complete_drafts(connection, before, work, old)
    return work


def _complete_drafts(connection: Connection, before: Work, work: Work, old: Mapping[str, Any]) -> None:
    """Where something is asked again, put the answer that was given to it into a draft that could not hold it."""
    query = select(drafts, tasks, assignments.c.person_id)
    query = query.join(assignments, assignments.c.id == drafts.c.assignment_id)
    query = query.join(tasks, tasks.c.id == assignments.c.task_id)
    for row in connection.execute(query.where(tasks.c.project_id == work.id, tasks.c.live)).all():
        known = before.asked(task_of(old[row.key])) if row.key in old else {}
        back = work.asked(task_of(row)).keys() - known.keys()
        held = values_of(connection, Place(work.id, row.id, row.person_id)) if back else {}
        hidden = {field_name(subject): as_typed(value) for subject, value in held.items() if subject in back}
        data = hidden | load(row.data)
        if len(data) > len(load(row.data)):
            which = drafts.c.assignment_id == row.assignment_id
            connection.execute(update(drafts).where(which).values(data=dump(data)))


def retire(connection: Connection, work: Work) -> None:
    """Ask nothing of the project any more; `lay_out` brings it back."""
    connection.execute(update(projects).where(projects.c.id == work.id).values(live=False))
    gone = {"live": False, "open_disputes": 0, "agreement": 1.0}
    connection.execute(update(tasks).where(tasks.c.project_id == work.id).values(gone))


def _differs(row: Any, values: dict[str, Any]) -> bool:
    return any(getattr(row, name) != value for name, value in values.items())


def _rows(connection: Connection, work: Work) -> Sequence[Any]:
    return connection.execute(select(tasks).where(tasks.c.project_id == work.id)).all()


def _ask_again(connection: Connection, work: Work, ids: Collection[int] | None) -> None:
    """Bring assignments and disputes of tasks up to date after what is asked has changed (of all, by default)."""
    if ids is not None and not ids:
        return
    judged = set(connection.scalars(select(current.c.task_id).where(current.c.project_id == work.id).distinct()))
    rows = [row for row in _rows(connection, work) if row.id in judged and (ids is None or row.id in ids)]
    review_states(connection, work, rows)
    settle(connection, work, rows, many=True)


def required(work: Work, task: Task) -> set[Subject]:
    """What has to be answered about `task`."""
    questions = work.spec.asked()
    return {subject for subject, what in work.asked(task).items() if questions[what.question].required}


def review_states(connection: Connection, work: Work, rows: Iterable[Any]) -> None:
    """An annotator is done with a task (rows of `tasks`) if all that is required has their vote, and else is not."""
    needed = {row.id: required(work, task_of(row)) for row in rows if row.live}
    if not needed:
        return
    one = current.c.task_id == next(iter(needed)) if len(needed) == 1 else current.c.project_id == work.id
    given: dict[tuple[int, int], set[Subject]] = {}
    query = select(current.c.task_id, current.c.person_id, current.c.key, current.c.wording).where(one)
    for row in connection.execute(query):
        given.setdefault((row.task_id, row.person_id), set()).add(Subject(row.key, row.wording))
    query = select(assignments.c.id, assignments.c.task_id, assignments.c.person_id, assignments.c.state)
    query = query.join(people, people.c.id == assignments.c.person_id).where(people.c.role == "annotator")
    query = query.where(assignments.c.project_id == work.id, assignments.c.opened_at.is_not(None))
    changed: list[dict[str, Any]] = []
    for row in connection.execute(query):
        wanted = needed.get(row.task_id)
        if wanted:
            done = wanted <= given.get((row.task_id, row.person_id), set())
            if done != (row.state == "done"):
                changed.append({"id": row.id, "state": "done" if done else "open"})
    bulk.change(connection, assignments, changed)
