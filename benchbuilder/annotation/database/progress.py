"""Where a project stands, for the lead: who did how much, how fast, and how well on gold tasks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from benchbuilder.annotation.base import Ballot, Subject, Task
from benchbuilder.annotation.database import adjudicator_queries, annotator_queries
from benchbuilder.annotation.database.models import GoldAnswer, Person, Share, Standing
from benchbuilder.annotation.database.projects import Work, task_of
from benchbuilder.annotation.database.record_votes import ballot_of
from benchbuilder.annotation.database.schema import assignments, current, tasks
from benchbuilder.annotation.database.users import able, everybody
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import in_dispute


def standing(connection: Connection, work: Work, now: datetime) -> Standing:
    """Counts, and the share of everybody who works on the project or has done something in it."""
    coming = able(connection, now)
    involved = set(connection.scalars(select(assignments.c.person_id).where(
        assignments.c.project_id == work.id, assignments.c.state == "done"
    ).distinct()))  # fmt: skip
    shown = [one for one in everybody(connection) if one.belongs_to(work.name) or one.id in involved]
    query = select(tasks.c.id, tasks.c.live, tasks.c.gold).where(tasks.c.project_id == work.id)
    rows = connection.execute(query).all()
    live = {row.id for row in rows if row.live and not row.gold}
    query = select(assignments.c.task_id, assignments.c.state, func.count())
    query = query.where(assignments.c.project_id == work.id, assignments.c.place.is_not(None))
    done, given = Counter[int](), Counter[int]()
    for task, state, count in connection.execute(query.group_by(assignments.c.task_id, assignments.c.state)):
        given[task] += count
        done[task] += count if state == "done" else 0
    each = work.spec.per_task
    golden = connection.execute(select(tasks).where(tasks.c.project_id == work.id, tasks.c.live, tasks.c.gold)).all()
    gold = [task_of(row) for row in golden]
    ids = [row.id for row in golden]
    votes = ballot_of(connection, (current.c.project_id == work.id) & current.c.task_id.in_(ids))
    return Standing(
        tasks=len(live),
        complete=sum(done[task] >= each for task in live),
        gold=len(gold),
        retired=sum(not row.live for row in rows),
        disputes=adjudicator_queries.waiting(connection, work.name),
        short=sum(max(0, each - given[task]) for task in live),
        shares=tuple(_share(connection, work, person, gold, votes, person.id in coming) for person in shown),
    )


def _share(
    connection: Connection, work: Work, person: Person, gold: list[Task], votes: Ballot, may_enter: bool
) -> Share:  # fmt: skip
    progress = adjudicator_queries.progress if person.role == "adjudicator" else annotator_queries.progress
    query = select(assignments.c.seconds).where(
        assignments.c.person_id == person.id, assignments.c.project_id == work.id, assignments.c.live,
        assignments.c.state == "done",
    )  # fmt: skip
    seconds: list[Any] = list(connection.scalars(query.order_by(assignments.c.done_event, assignments.c.id)))
    return Share(
        person=person,
        progress=progress(connection, person, work.name),
        seconds=tuple(seconds),
        hasty=sum(time < (work.spec.min_seconds or 0) for time in seconds),
        gold=tuple(answer for task in gold for answer in _answers(work, person, task, votes)),
        may_enter=may_enter,
    )


def _answers(work: Work, person: Person, task: Task, votes: Ballot) -> list[GoldAnswer]:
    questions = work.spec.asked("claim")
    found: list[GoldAnswer] = []
    for name, expected in task.expected:
        question = questions.get(name)
        if question is None:
            continue
        value = votes.votes.get(Subject(task.key, wording_key(question)), {}).get(person.code)
        if value is not None:
            right = value == expected if question.answer == "text" else not in_dispute(question, [value, expected])
            found.append(GoldAnswer(task.key, name, expected, value, right))
    return found
