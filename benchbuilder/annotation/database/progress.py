"""The progress of a project for its owner: how much, how fast and how well each person works."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from benchbuilder.annotation.base import Subject, Task, Votes
from benchbuilder.annotation.database import adjudicator_queries, annotator_queries
from benchbuilder.annotation.database.models import GoldAnswer, Person, PersonProgress, StaffProgress
from benchbuilder.annotation.database.projects import ProjectRef, task_from_row
from benchbuilder.annotation.database.record_votes import load_votes
from benchbuilder.annotation.database.schema import assignments, current_votes, tasks
from benchbuilder.annotation.database.users import active_person_ids, list_people
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import is_disputed


def staff_progress(connection: Connection, project: ProjectRef, now: datetime) -> StaffProgress:
    """Counts of tasks, and the progress of everybody who belongs to the project or has done a task in it."""
    active = active_person_ids(connection, now)
    involved = set(connection.scalars(select(assignments.c.person_id).where(
        assignments.c.project_id == project.id, assignments.c.state == "done"
    ).distinct()))  # fmt: skip
    shown = [person for person in list_people(connection) if person.belongs_to(project.name) or person.id in involved]
    query = select(tasks.c.id, tasks.c.live, tasks.c.gold).where(tasks.c.project_id == project.id)
    rows = connection.execute(query).all()
    live = {row.id for row in rows if row.live and not row.gold}
    query = select(assignments.c.task_id, assignments.c.state, func.count())
    query = query.where(assignments.c.project_id == project.id, assignments.c.place.is_not(None))
    done, assigned = Counter[int](), Counter[int]()
    for task, state, count in connection.execute(query.group_by(assignments.c.task_id, assignments.c.state)):
        assigned[task] += count
        done[task] += count if state == "done" else 0
    per_task = project.spec.per_task
    gold_rows = connection.execute(
        select(tasks).where(tasks.c.project_id == project.id, tasks.c.live, tasks.c.gold)
    ).all()
    gold = [task_from_row(row) for row in gold_rows]
    ids = [row.id for row in gold_rows]
    votes = load_votes(connection, (current_votes.c.project_id == project.id) & current_votes.c.task_id.in_(ids))
    return StaffProgress(
        tasks=len(live),
        complete=sum(done[task] >= per_task for task in live),
        gold_tasks=len(gold),
        retired=sum(not row.live for row in rows),
        disputes=adjudicator_queries.count_waiting(connection, project.name),
        unassigned=sum(max(0, per_task - assigned[task]) for task in live),
        people=tuple(
            _person_progress(connection, project, person, gold, votes, person.id in active) for person in shown
        ),
    )


def _person_progress(
    connection: Connection, project: ProjectRef, person: Person, gold: list[Task], gold_votes: Votes, may_enter: bool
) -> PersonProgress:  # fmt: skip
    progress = (
        adjudicator_queries.adjudicator_progress
        if person.role == "adjudicator"
        else annotator_queries.annotator_progress
    )
    query = select(assignments.c.seconds).where(
        assignments.c.person_id == person.id, assignments.c.project_id == project.id, assignments.c.live,
        assignments.c.state == "done",
    )  # fmt: skip
    seconds: list[Any] = list(connection.scalars(query.order_by(assignments.c.done_event, assignments.c.id)))
    return PersonProgress(
        person=person,
        progress=progress(connection, person, project.name),
        seconds=tuple(seconds),
        hasty_count=sum(time < (project.spec.min_seconds or 0) for time in seconds),
        gold_answers=tuple(answer for task in gold for answer in _gold_answers(project, person, task, gold_votes)),
        may_enter=may_enter,
    )


def _gold_answers(project: ProjectRef, person: Person, task: Task, votes: Votes) -> list[GoldAnswer]:
    questions = project.spec.questions_about("claim")
    found: list[GoldAnswer] = []
    for name, expected in task.expected:
        question = questions.get(name)
        if question is None:
            continue
        value = votes.by_subject.get(Subject(task.key, wording_key(question)), {}).get(person.code)
        if value is not None:
            right = value == expected if question.answer == "text" else not is_disputed(question, [value, expected])
            found.append(GoldAnswer(task.key, name, expected, value, right))
    return found
