"""The progress of a project for its owner: how much, how fast and how well each person works."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from benchbuilder.annotation.base import Subject, Task, Votes
from benchbuilder.annotation.database import adjudicator_queries
from benchbuilder.annotation.database.annotator_queries import THEIRS, TOTAL
from benchbuilder.annotation.database.models import GoldAccuracy, Person, PersonProgress, Progress, StaffProgress
from benchbuilder.annotation.database.projects import ProjectRef, task_from_row
from benchbuilder.annotation.database.record_votes import load_votes
from benchbuilder.annotation.database.schema import IS_DISPUTED, IS_FLAGGED, assignments, current_votes, projects, tasks
from benchbuilder.annotation.database.users import active_person_ids, list_people
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import is_disputed

_MINE = select(func.count()).select_from(assignments).where(THEIRS, assignments.c.live)
_COUNTS = select(
    TOTAL.scalar_subquery(),
    _MINE.where(assignments.c.state == "done").scalar_subquery(),
    _MINE.where(assignments.c.state == "skipped").scalar_subquery(),
    _MINE.where(IS_FLAGGED).scalar_subquery(),
)
_MIDDLE_SECONDS = (
    select(assignments.c.seconds)
    .where(THEIRS, assignments.c.live, assignments.c.state == "done")
    .order_by(assignments.c.seconds)
    .offset(bindparam("skipped"))
    .limit(bindparam("most"))
)


def person_progress(connection: Connection, person: Person, project: str) -> Progress:
    """The progress of `person` in the project called `project`."""
    if person.role == "adjudicator":
        return _adjudicator_progress(connection, person, project)
    return _annotator_progress(connection, person, project)


def _annotator_progress(connection: Connection, person: Person, project: str) -> Progress:
    """An annotator's progress; numbers have no gaps, so open tasks are calculated and not counted."""
    total, done, skipped, flagged = connection.execute(_COUNTS, {"person": person.id, "project": project}).one()
    return Progress(
        done=done,
        open=(total or 0) - done - skipped if person.role == "annotator" else 0,
        skipped=skipped,
        flagged=flagged,
        median_seconds=_median_seconds(connection, person, project, done),
    )


def _median_seconds(connection: Connection, person: Person, project: str, done: int) -> float | None:
    """The median seconds of their finished tasks; `done` is how many there are."""
    if not done:
        return None
    named = {"person": person.id, "project": project, "skipped": (done - 1) // 2, "most": 2 - done % 2}
    middle = connection.scalars(_MIDDLE_SECONDS, named).all()
    return round(sum(middle) / len(middle), 3) if middle else None


def _adjudicator_progress(connection: Connection, person: Person, project: str) -> Progress:
    """An adjudicator's progress; open tasks wait for any adjudicator."""
    id_ = select(projects.c.id).where(projects.c.name == project).scalar_subquery()
    mine = (assignments.c.person_id == person.id) & (assignments.c.project_id == id_)
    query = select(assignments.c.state, assignments.c.flagged, IS_DISPUTED, func.count())
    query = query.join(tasks, tasks.c.id == assignments.c.task_id).where(mine, tasks.c.live)
    query = query.group_by(assignments.c.state, assignments.c.flagged, IS_DISPUTED)
    rows = connection.execute(query).all()
    done = sum(n for state, _, waits, n in rows if state == "done" and not waits)
    skipped = sum(n for state, _, waits, n in rows if state == "skipped" and waits)
    timed = select(func.count()).select_from(assignments).where(mine, assignments.c.live, assignments.c.state == "done")
    return Progress(
        done=done,
        open=adjudicator_queries.count_waiting(connection, project, person) - skipped,
        skipped=skipped,
        flagged=sum(n for _, flagged, _, n in rows if flagged),
        median_seconds=_median_seconds(connection, person, project, int(connection.execute(timed).scalar_one())),
    )


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
) -> PersonProgress:
    query = select(assignments.c.seconds).where(
        assignments.c.person_id == person.id, assignments.c.project_id == project.id, assignments.c.live,
        assignments.c.state == "done",
    )  # fmt: skip
    seconds: list[Any] = list(connection.scalars(query.order_by(assignments.c.done_event, assignments.c.id)))
    return PersonProgress(
        person=person,
        progress=person_progress(connection, person, project.name),
        seconds=tuple(seconds),
        gold=_gold_accuracy(project, person, gold, gold_votes),
        may_enter=may_enter,
    )


def _gold_accuracy(project: ProjectRef, person: Person, tasks: list[Task], votes: Votes) -> GoldAccuracy:
    questions = project.spec.questions_about("claim")
    results: list[bool] = []
    for task in tasks:
        for name, expected in task.expected:
            question = questions.get(name)
            subject = None if question is None else Subject(task.key, wording_key(question))
            value = votes.by_subject.get(subject, {}).get(person.code) if subject else None
            if question is not None and value is not None:
                exact = question.answer == "text"
                results.append(value == expected if exact else not is_disputed(question, [value, expected]))
    return GoldAccuracy(sum(results), len(results))
