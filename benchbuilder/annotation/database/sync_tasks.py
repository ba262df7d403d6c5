"""Syncs the tasks of a project: adds new ones, retires others, and asks changed ones again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.database import bulk
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.database.projects import (
    ProjectRef,
    find_project_ref,
    save_project,
    task_from_row,
    task_row_values,
)
from benchbuilder.annotation.database.record_votes import AssignmentKey, load_values, load_values_of, update_disputes
from benchbuilder.annotation.database.sanitise import dump_json, form_field_name, load_json, value_as_typed
from benchbuilder.annotation.database.schema import assignments, current_votes, drafts, people, projects, tasks


def sync_project(connection: Connection, project: Project, wanted_tasks: Sequence[Task], now: datetime) -> ProjectRef:
    """Save `project`, and ask exactly `wanted_tasks` (the first of each key). Existing tasks keep their ids."""
    former = find_project_ref(connection, project.name)
    ref, changed = save_project(connection, project, now)
    old = {row.key: row for row in _task_rows(connection, ref)}
    new: dict[str, dict[str, Any]] = {}
    for ordinal, task in enumerate(wanted_tasks):
        new.setdefault(task.key, {**task_row_values(task), "ordinal": ordinal, "live": True})
    state = {"project_id": ref.id, "open_disputes": 0, "agreement": 1.0}
    bulk.insert_rows(connection, tasks, [{**values, **state} for key, values in new.items() if key not in old])
    moved = {key for key, values in new.items() if key in old and _differs(old[key], values)}
    bulk.update_rows(connection, tasks, [{"id": old[key].id, **new[key]} for key in sorted(moved)])
    retired = [row.id for key, row in old.items() if row.live and key not in new]
    gone = {"live": False, "open_disputes": 0, "agreement": 1.0}
    bulk.update_rows(connection, tasks, [{"id": id_, **gone} for id_ in retired])
    _refresh_states(connection, ref, None if changed else {old[key].id for key in moved})
    if former is not None and (changed or moved):
        _restore_hidden_answers(connection, former, ref, old)
    return ref


def _restore_hidden_answers(
    connection: Connection, former: ProjectRef, project: ProjectRef, old: Mapping[str, Any]
) -> None:
    """Add answers to drafts for subjects that are asked again, as the drafts could not contain them."""
    query = select(drafts, tasks, assignments.c.person_id)
    query = query.join(assignments, assignments.c.id == drafts.c.assignment_id)
    query = query.join(tasks, tasks.c.id == assignments.c.task_id)
    for row in connection.execute(query.where(tasks.c.project_id == project.id, tasks.c.live)).all():
        requested = former.judgement_requests(task_from_row(old[row.key])) if row.key in old else {}
        back = project.judgement_requests(task_from_row(row)).keys() - requested.keys()
        values = load_values(connection, AssignmentKey(project.id, row.id, row.person_id)) if back else {}
        hidden = {
            form_field_name(subject): value_as_typed(value) for subject, value in values.items() if subject in back
        }
        data = hidden | load_json(row.data)
        if len(data) > len(load_json(row.data)):
            of_assignment = drafts.c.assignment_id == row.assignment_id
            connection.execute(update(drafts).where(of_assignment).values(data=dump_json(data)))


def retire_project(connection: Connection, project: ProjectRef) -> None:
    """Retire all tasks of the project; `sync_project` restores it."""
    connection.execute(update(projects).where(projects.c.id == project.id).values(live=False))
    gone = {"live": False, "open_disputes": 0, "agreement": 1.0}
    connection.execute(update(tasks).where(tasks.c.project_id == project.id).values(gone))


def _differs(row: Any, values: dict[str, Any]) -> bool:
    return any(getattr(row, name) != value for name, value in values.items())


def _task_rows(connection: Connection, project: ProjectRef) -> Sequence[Any]:
    return connection.execute(select(tasks).where(tasks.c.project_id == project.id)).all()


def _refresh_states(connection: Connection, project: ProjectRef, ids: Collection[int] | None) -> None:
    """Update assignments and disputes of tasks after the questions changed (of all tasks by default)."""
    if ids is not None and not ids:
        return
    judged = set(
        connection.scalars(select(current_votes.c.task_id).where(current_votes.c.project_id == project.id).distinct())
    )
    found = sorted(judged if ids is None else judged.intersection(ids))
    update_done_states(connection, project, found)
    update_disputes(connection, project, found)


def required_subjects(project: ProjectRef, task: Task) -> set[Subject]:
    """The subjects of `task` that require an answer."""
    questions = project.spec.questions_about()
    return {
        subject for subject, request in project.judgement_requests(task).items() if questions[request.question].required
    }


def update_done_states(connection: Connection, project: ProjectRef, task_ids: Iterable[int]) -> None:
    """Update which annotators are done with which live tasks: those who answered all required subjects."""
    for ids in bulk.some_at_a_time(task_ids):
        rows = connection.execute(select(tasks).where(tasks.c.id.in_(ids), tasks.c.live))
        needed = {row.id: required_subjects(project, task_from_row(row)) for row in rows}
        answered = load_values_of(connection, needed)
        query = select(assignments.c.id, assignments.c.task_id, assignments.c.person_id, assignments.c.state)
        query = query.join(people, people.c.id == assignments.c.person_id).where(people.c.role == "annotator")
        query = query.where(assignments.c.task_id.in_(needed), assignments.c.opened_at.is_not(None))
        changed: list[dict[str, Any]] = []
        for row in connection.execute(query):
            required = needed[row.task_id]
            if required:
                done = required <= answered.get((row.task_id, row.person_id), {}).keys()
                if done != (row.state == "done"):
                    changed.append({"id": row.id, "state": "done" if done else "open"})
        bulk.update_rows(connection, assignments, changed)
