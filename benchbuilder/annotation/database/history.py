"""Reads votes and events: what counts now, and the full history."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from benchbuilder.annotation.base import Comment, Subject, Votes
from benchbuilder.annotation.database.connection import Transactions
from benchbuilder.annotation.database.models import AnnotationEvent, VoteEvent
from benchbuilder.annotation.database.projects import ProjectRef, live_tasks
from benchbuilder.annotation.database.record_votes import load_votes
from benchbuilder.annotation.database.sanitise import dump_json, load_json
from benchbuilder.annotation.database.schema import assignments, current_votes, events, people, projects, tasks, votes

_PAGE = 5000
_FORMER_KEYS = {"door": "channel"}


def project_votes(connection: Connection, project: ProjectRef, *, include_retired: bool = False) -> Votes:
    """The votes that count; see `AnnotationStore.current_votes`."""
    gold = select(tasks.c.id).where(tasks.c.project_id == project.id, tasks.c.gold)
    result = load_votes(connection, (current_votes.c.project_id == project.id) & current_votes.c.task_id.not_in(gold))
    query = select(people.c.code, tasks.c.key, assignments.c.note, tasks.c.live).where(assignments.c.note != "")
    query = query.join(tasks, tasks.c.id == assignments.c.task_id).join(people, people.c.id == assignments.c.person_id)
    notes = connection.execute(query.where(assignments.c.project_id == project.id, tasks.c.gold.is_(False))).all()
    result.comments = sorted(Comment(code, key, note) for code, key, note, live in notes if live or include_retired)
    if include_retired:
        return result
    shown = [task for row, task in live_tasks(connection, project) if not row.gold]
    requested = {subject: request.subject for subject, request in project.judgement_requests(*shown).items()}
    stale = sum(len(values) for subject, values in result.by_subject.items() if subject not in requested)
    stale += sum(subject not in requested for subject in result.decisions)
    result.by_subject = {
        requested[subject]: values for subject, values in result.by_subject.items() if subject in requested
    }
    result.decisions = {
        requested[subject]: values for subject, values in result.decisions.items() if subject in requested
    }
    result.stale = {"app": stale} if stale else {}
    return result


def votes_digest(votes: Votes) -> str:
    """Hash of votes and decisions, independent of their order."""
    lines = [
        [s.key, s.wording, "vote", who, value]
        for s, values in votes.by_subject.items()
        for who, value in values.items()
    ]
    lines += [[s.key, s.wording, "decision", who, value] for s, (who, value) in votes.decisions.items()]
    return hashlib.sha256("\n".join(sorted(map(dump_json, lines))).encode()).hexdigest()


def vote_events(transactions: Transactions, project: str, since: int) -> Iterator[VoteEvent]:
    """Every vote after the one with the id `since`, in order."""
    columns = (tasks.c.key.label("task"), people.c.name.label("who"), people.c.code, people.c.role)
    query = select(votes, *columns, events.c.detail).join(events, events.c.id == votes.c.event_id)
    query = query.join(tasks, tasks.c.id == votes.c.task_id).join(people, people.c.id == votes.c.person_id)
    query = query.where(votes.c.project_id == _id(project))

    def as_vote(row: Any) -> VoteEvent:
        value = None if row.value is None else load_json(row.value)
        note = str(load_json(row.detail).get("note", ""))
        return VoteEvent(
            row.id, project, row.task, Subject(row.key, row.wording), row.question, row.who, row.code, row.role, value,
            note, row.at, row.channel, row.event_id,
        )  # fmt: skip

    return _pages(transactions, query, votes.c.id, since, as_vote)


def all_events(transactions: Transactions, project: str) -> Iterator[AnnotationEvent]:
    """Every event of a project, in order."""
    columns = (tasks.c.key.label("task"), people.c.name.label("who"), people.c.code)
    query = select(events, *columns).join(tasks, tasks.c.id == events.c.task_id)
    query = query.join(people, people.c.id == events.c.person_id).where(events.c.project_id == _id(project))

    def as_event(row: Any) -> AnnotationEvent:
        return AnnotationEvent(
            row.id, project, row.task, row.who, row.code, row.kind, row.at, row.seconds, row.active_seconds,
            _event_detail(row.detail),
        )  # fmt: skip

    return _pages(transactions, query, events.c.id, 0, as_event)


def _event_detail(text: str) -> dict[str, object]:
    """The detail of an event. Events cannot be changed: imports of the first version still say ``door``."""
    detail: dict[str, object] = load_json(text)
    return {_FORMER_KEYS.get(name, name): value for name, value in detail.items()}


def _id(project: str) -> Any:
    return select(projects.c.id).where(projects.c.name == project).scalar_subquery()


def _pages(
    transactions: Transactions, query: Select[Any], id_: Any, since: int, make: Callable[[Any], Any]
) -> Iterator[Any]:
    """Rows by id, in pages of a few thousand, so that reading never blocks writers."""
    while True:
        with transactions.reading() as connection:
            rows = connection.execute(query.where(id_ > since).order_by(id_).limit(_PAGE)).all()
        yield from map(make, rows)
        if len(rows) < _PAGE:
            return
        since = rows[-1].id
