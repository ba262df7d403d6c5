"""Votes and events added to the history, and what follows from them: votes that count, and tasks in dispute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, exists, insert, select

from benchbuilder.annotation.aggregate import Verdicts, decide
from benchbuilder.annotation.base import Ballot, Subject, Task, Value
from benchbuilder.annotation.database import bulk
from benchbuilder.annotation.database.models import EventKind
from benchbuilder.annotation.database.projects import Work, task_of
from benchbuilder.annotation.database.sanitise import dump, load
from benchbuilder.annotation.database.schema import current, events, people, tasks, votes, wordings
from benchbuilder.annotation.tasks import Asked

_VALUES = select(current.c.key, current.c.wording, current.c.value).where(
    current.c.task_id == bindparam("task"), current.c.person_id == bindparam("person")
)


class Place(NamedTuple):
    """Who is at work on what."""

    project_id: int
    task_id: int
    person_id: int


def plausible(seconds: float | None) -> float | None:
    """`seconds`, if that is a time that something can take (up to a year)."""
    return seconds if seconds is not None and 0 <= seconds <= 366 * 86_400 else None


def note_event(
    connection: Connection, place: Place, kind: EventKind, now: datetime, *, seconds: float | None = None,
    active: float | None = None, detail: Mapping[str, object] | None = None,
) -> int:  # fmt: skip
    """Add an event; its id."""
    values = {"kind": kind, "at": now, "seconds": plausible(seconds), "active_seconds": plausible(active)}
    values["detail"] = dump(detail or {})
    made = connection.execute(insert(events).values(**place._asdict(), **values))
    return int(made.inserted_primary_key[0]) if made.inserted_primary_key else 0


def values_of(connection: Connection, place: Place, *, door: str = "") -> dict[Subject, Value]:
    """The votes of a person about a task that count, if wanted just those that came in by `door`."""
    query = _VALUES.join(votes, votes.c.id == current.c.vote_id).where(votes.c.door == door) if door else _VALUES
    rows = connection.execute(query, {"task": place.task_id, "person": place.person_id})
    return {Subject(row.key, row.wording): load(row.value) for row in rows}


def cast(
    connection: Connection, place: Place, event: int, values: Mapping[Subject, Value | None],
    questions: Mapping[Subject, str], *, door: str, now: datetime,
) -> None:  # fmt: skip
    """Add a vote for each of `values` (``None`` takes one back); `questions` says which guiding question each answers.

    They must differ from those that count.
    """
    if not values:
        return
    told = {**place._asdict(), "event_id": event, "door": door, "at": now}
    rows = [
        {
            **told, "key": subject.key, "wording": subject.wording, "question": questions[subject],
            "value": None if value is None else dump(value),
        }
        for subject, value in values.items()
    ]  # fmt: skip
    connection.execute(insert(votes), rows)
    again = exists().where(
        votes.c.event_id == event, votes.c.key == current.c.key, votes.c.wording == current.c.wording
    )
    theirs = (current.c.task_id == place.task_id, current.c.person_id == place.person_id)
    connection.execute(delete(current).where(*theirs, again))
    names = ["project_id", "task_id", "person_id", "key", "wording", "value"]
    query = select(*(votes.c[name] for name in names), votes.c.id)
    query = query.where(votes.c.event_id == event, votes.c.value.is_not(None))
    connection.execute(insert(current).from_select([*names, "vote_id"], query))


def same(one: Value | None, other: Value | None) -> bool:
    """Whether two votes are the same: 1 and 1.0 are, "1" and 1 are not."""
    return one == other and isinstance(one, str) == isinstance(other, str)


def ballot_of(connection: Connection, condition: Any) -> Ballot:
    """The votes that count, by the codes of people, as far as `condition` holds of them.

    A decision on what is not binary does not count any more once a vote that it judged has become another, or one
    has been added: what is then in dispute is another matter.
    """
    query = select(current, people.c.code, people.c.role)
    query = query.join(people, people.c.id == current.c.person_id).where(condition).order_by(current.c.vote_id)
    found = Ballot()
    decisions: dict[Subject, Any] = {}
    later: dict[Subject, list[Any]] = {}
    for row in connection.execute(query):
        subject = Subject(row.key, row.wording)
        if row.role == "adjudicator":
            found.decisions[subject] = (row.code, load(row.value))
            decisions[subject] = row
            later.pop(subject, None)
        else:
            found.votes.setdefault(subject, {})[row.code] = load(row.value)
            if subject in decisions:
                later.setdefault(subject, []).append(row)
    for subject in _outdated(connection, decisions, later):
        del found.decisions[subject]
    return found


def _outdated(
    connection: Connection, decisions: Mapping[Subject, Any], later: Mapping[Subject, list[Any]]
) -> list[Subject]:  # fmt: skip
    """What was decided about votes that are not those of now; `later` are votes that came after the decision."""
    if not later:
        return []
    projects = {decisions[subject].project_id for subject in later}
    query = select(wordings.c.wording, wordings.c.definition).where(wordings.c.project_id.in_(projects))
    binary = {row.wording for row in connection.execute(query) if load(row.definition).get("answer") == "binary"}
    found: list[Subject] = []
    for subject, rows in later.items():
        if subject.wording in binary:
            continue
        decision = decisions[subject]
        query = select(votes.c.person_id, votes.c.value).where(
            votes.c.task_id == decision.task_id, votes.c.key == subject.key, votes.c.wording == subject.wording,
            votes.c.id < decision.vote_id,
        )  # fmt: skip
        judged = {row.person_id: row.value for row in connection.execute(query.order_by(votes.c.id))}
        if any(judged.get(row.person_id) != row.value for row in rows):
            found.append(subject)
    return found


def in_dispute(verdicts: Verdicts) -> set[Subject]:
    """What annotators are in dispute about, decided or not."""
    return {*verdicts.disputed, *verdicts.adjudicated}


def share_agreed(asked: Mapping[Subject, Asked], work: Work, verdicts: Verdicts) -> float:
    """The share of judgements that are not in dispute; texts cannot be."""
    questions = work.spec.asked()
    judged = sum(questions[what.question].answer != "text" for what in asked.values())
    return 1.0 if judged == 0 else round(1 - len(in_dispute(verdicts)) / judged, 6)


def settle(connection: Connection, work: Work, rows: Iterable[Any], *, many: bool = False) -> None:
    """Note of each task (rows of `tasks`) how many disputes wait for an adjudicator, and how far annotators agree.

    With `many`, all votes of the project are read at once.
    """
    everything = ballot_of(connection, current.c.project_id == work.id) if many else None
    changed: list[dict[str, Any]] = []
    for row in rows:
        disputes, agreed = 0, 1.0
        if row.live and not row.gold:
            found = ballot_of(connection, current.c.task_id == row.id) if everything is None else everything
            disputes, agreed = _state(work, task_of(row), found)
        if (disputes, agreed) != (row.open_disputes, row.agreement):
            changed.append({"id": row.id, "open_disputes": disputes, "agreement": agreed})
    bulk.change(connection, tasks, changed)


def _state(work: Work, task: Task, ballot: Ballot) -> tuple[int, float]:
    asked = work.asked(task)
    verdicts = decide(asked, ballot, work.spec)
    return len(verdicts.disputed), share_agreed(asked, work, verdicts)
