"""Adds votes and events to the history, and updates the votes that count and the disputes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, exists, insert, select

from benchbuilder.annotation.aggregate import AggregatedLabels, aggregate_votes
from benchbuilder.annotation.base import Subject, Task, Value, Votes
from benchbuilder.annotation.database import bulk
from benchbuilder.annotation.database.models import EventKind
from benchbuilder.annotation.database.projects import ProjectRef, task_from_row
from benchbuilder.annotation.database.sanitise import dump_json, load_json
from benchbuilder.annotation.database.schema import current_votes, events, people, tasks, votes, wordings
from benchbuilder.annotation.tasks import JudgementRequest

_VALUES = select(current_votes.c.key, current_votes.c.wording, current_votes.c.value).where(
    current_votes.c.task_id == bindparam("task"), current_votes.c.person_id == bindparam("person")
)


class AssignmentKey(NamedTuple):
    """The person and the task of an assignment."""

    project_id: int
    task_id: int
    person_id: int


def plausible_seconds(seconds: float | None) -> float | None:
    """`seconds` if it is a plausible duration (up to a year), else ``None``."""
    return seconds if seconds is not None and 0 <= seconds <= 366 * 86_400 else None


def record_event(
    connection: Connection, assignment: AssignmentKey, kind: EventKind, now: datetime, *, seconds: float | None = None,
    active: float | None = None, detail: Mapping[str, object] | None = None,
) -> int:  # fmt: skip
    """Add an event and return its id."""
    values = {
        "kind": kind,
        "at": now,
        "seconds": plausible_seconds(seconds),
        "active_seconds": plausible_seconds(active),
    }
    values["detail"] = dump_json(detail or {})
    result = connection.execute(insert(events).values(**assignment._asdict(), **values))
    return int(result.inserted_primary_key[0]) if result.inserted_primary_key else 0


def load_values(connection: Connection, assignment: AssignmentKey, *, channel: str = "") -> dict[Subject, Value]:
    """The votes of a person on a task that count, optionally only those that came in by `channel`."""
    query = (
        _VALUES.join(votes, votes.c.id == current_votes.c.vote_id).where(votes.c.channel == channel)
        if channel
        else _VALUES
    )
    rows = connection.execute(query, {"task": assignment.task_id, "person": assignment.person_id})
    return {Subject(row.key, row.wording): load_json(row.value) for row in rows}


def load_values_of(connection: Connection, task_ids: Iterable[int]) -> dict[tuple[int, int], dict[Subject, Value]]:
    """The votes on tasks that count, by task and person."""
    values: dict[tuple[int, int], dict[Subject, Value]] = {}
    for ids in bulk.some_at_a_time(dict.fromkeys(task_ids)):
        for row in connection.execute(select(current_votes).where(current_votes.c.task_id.in_(ids))):
            theirs = values.setdefault((row.task_id, row.person_id), {})
            theirs[Subject(row.key, row.wording)] = load_json(row.value)
    return values


def record_votes(
    connection: Connection, assignment: AssignmentKey, event_id: int, values: Mapping[Subject, Value | None],
    questions: Mapping[Subject, str], *, channel: str, now: datetime,
) -> None:  # fmt: skip
    """Add a vote for each of `values` (``None`` withdraws one); they must differ from the votes that count.

    `questions` maps each subject to its guiding question.
    """
    if not values:
        return
    common = {**assignment._asdict(), "event_id": event_id, "channel": channel, "at": now}
    rows = [
        {
            **common, "key": subject.key, "wording": subject.wording, "question": questions[subject],
            "value": None if value is None else dump_json(value),
        }
        for subject, value in values.items()
    ]  # fmt: skip
    connection.execute(insert(votes), rows)
    again = exists().where(
        votes.c.event_id == event_id, votes.c.key == current_votes.c.key, votes.c.wording == current_votes.c.wording
    )
    theirs = (current_votes.c.task_id == assignment.task_id, current_votes.c.person_id == assignment.person_id)
    connection.execute(delete(current_votes).where(*theirs, again))
    names = ["project_id", "task_id", "person_id", "key", "wording", "value"]
    query = select(*(votes.c[name] for name in names), votes.c.id)
    query = query.where(votes.c.event_id == event_id, votes.c.value.is_not(None))
    connection.execute(insert(current_votes).from_select([*names, "vote_id"], query))


def same_value(first: Value | None, second: Value | None) -> bool:
    """Whether two votes are equal: 1 and 1.0 are, "1" and 1 are not."""
    return first == second and isinstance(first, str) == isinstance(second, str)


def load_votes(connection: Connection, condition: Any) -> Votes:
    """The votes that count and meet `condition`, by the codes of people.

    A decision on a question that is not binary no longer counts after one of its votes was changed or a vote was
    added: then the dispute is another one.
    """
    query = select(current_votes, people.c.code, people.c.role)
    query = (
        query.join(people, people.c.id == current_votes.c.person_id).where(condition).order_by(current_votes.c.vote_id)
    )
    result = Votes()
    decisions: dict[Subject, Any] = {}
    later: dict[Subject, list[Any]] = {}
    for row in connection.execute(query):
        subject = Subject(row.key, row.wording)
        if row.role == "adjudicator":
            result.decisions[subject] = (row.code, load_json(row.value))
            decisions[subject] = row
            later.pop(subject, None)
        else:
            result.by_subject.setdefault(subject, {})[row.code] = load_json(row.value)
            if subject in decisions:
                later.setdefault(subject, []).append(row)
    for subject in _outdated_decisions(connection, decisions, later):
        del result.decisions[subject]
    return result


def _outdated_decisions(
    connection: Connection, decisions: Mapping[Subject, Any], later: Mapping[Subject, list[Any]]
) -> list[Subject]:
    """Subjects whose decision is about votes that changed; `later` are the votes after each decision."""
    if not later:
        return []
    projects = {decisions[subject].project_id for subject in later}
    query = select(wordings.c.wording, wordings.c.definition).where(wordings.c.project_id.in_(projects))
    binary = {row.wording for row in connection.execute(query) if load_json(row.definition).get("answer") == "binary"}
    outdated: list[Subject] = []
    for subject, rows in later.items():
        if subject.wording in binary:
            continue
        decision = decisions[subject]
        query = select(votes.c.person_id, votes.c.value).where(
            votes.c.task_id == decision.task_id, votes.c.key == subject.key, votes.c.wording == subject.wording,
            votes.c.id < decision.vote_id,
        )  # fmt: skip
        values = {row.person_id: row.value for row in connection.execute(query.order_by(votes.c.id))}
        if any(values.get(row.person_id) != row.value for row in rows):
            outdated.append(subject)
    return outdated


def disputed_subjects(labels: AggregatedLabels) -> set[Subject]:
    """The subjects that annotators dispute, decided or not."""
    return {*labels.disputed_subjects, *labels.adjudicated_subjects}


def agreement_proportion(
    requests: Mapping[Subject, JudgementRequest], project: ProjectRef, labels: AggregatedLabels
) -> float:
    """The proportion of judgements without a dispute; texts are not counted."""
    questions = project.spec.questions_about()
    judged = sum(questions[request.question].answer != "text" for request in requests.values())
    return 1.0 if judged == 0 else round(1 - len(disputed_subjects(labels)) / judged, 6)


def update_disputes(connection: Connection, project: ProjectRef, task_ids: Iterable[int]) -> None:
    """Update disputes and agreement of tasks."""
    for ids in bulk.some_at_a_time(task_ids):
        found = load_votes(connection, current_votes.c.task_id.in_(ids))
        changed: list[dict[str, Any]] = []
        for row in connection.execute(select(tasks).where(tasks.c.id.in_(ids))):
            disputes, agreed = 0, 1.0
            if row.live:  # gold tasks too, though it does not count: else a submission of one would be faster
                state = _dispute_state(project, task_from_row(row), found)
                disputes, agreed = (0, 1.0) if row.gold else state
            if (disputes, agreed) != (row.open_disputes, row.agreement):
                changed.append({"id": row.id, "open_disputes": disputes, "agreement": agreed})
        bulk.update_rows(connection, tasks, changed)


def _dispute_state(project: ProjectRef, task: Task, votes: Votes) -> tuple[int, float]:
    requests = project.judgement_requests(task)
    labels = aggregate_votes(requests, votes, project.spec)
    return len(labels.disputed_subjects), agreement_proportion(requests, project, labels)
