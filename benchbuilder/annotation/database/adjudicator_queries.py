"""What adjudicators do: decide where annotators are in dispute, without learning who said what."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, exists, func, insert, select

from benchbuilder.annotation.aggregate import decide as verdicts_of
from benchbuilder.annotation.aggregate import overrides
from benchbuilder.annotation.base import Ballot, Subject, Task, Value
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database import assignments as holding
from benchbuilder.annotation.database.models import Dispute, Outcome, Person, Progress, Submission
from benchbuilder.annotation.database.projects import Work, blind_task_of, find_work
from benchbuilder.annotation.database.record_votes import (
    ballot_of,
    cast,
    in_dispute,
    note_event,
    share_agreed,
)
from benchbuilder.annotation.database.sanitise import load, short
from benchbuilder.annotation.database.schema import (
    WAITS,
    assignments,
    bounded,
    current,
    events,
    people,
    projects,
    tasks,
)
from benchbuilder.annotation.database.users import member
from benchbuilder.annotation.tasks import Asked


def waiting(connection: Connection, project: str) -> int:
    """How many tasks wait for an adjudicator."""
    query = select(func.count()).select_from(tasks).join(projects, projects.c.id == tasks.c.project_id)
    return int(connection.execute(query.where(projects.c.name == project, WAITS)).scalar_one())


def next_task(
    connection: Connection, person: Person, project: str, skip: Collection[int], now: datetime
) -> int | None:  # fmt: skip
    """The task that waits with the lowest agreement.

    Those that another adjudicator is at come after the others, and after these what the person put off.
    """
    mine = assignments.alias("mine")
    others = assignments.alias("others")
    query = select(tasks.c.id).join(projects, projects.c.id == tasks.c.project_id)
    query = query.outerjoin(mine, (mine.c.task_id == tasks.c.id) & (mine.c.person_id == person.id))
    query = query.where(projects.c.name == project, WAITS, tasks.c.id.not_in(skip))
    busy = exists().where(
        others.c.task_id == tasks.c.id, others.c.person_id != person.id, others.c.alive_at > now - holding.PAUSE,
        others.c.person_id == people.c.id, people.c.role == "adjudicator",
    )  # fmt: skip
    last = case((mine.c.state == "skipped", 2), (busy, 1), else_=0)
    return connection.execute(query.order_by(last, tasks.c.agreement, tasks.c.id).limit(1)).scalar()


class Matter(NamedTuple):
    """A task before an adjudicator, as its row in `tasks` says, and what it is about."""

    row: Any
    work: Work
    task: Task
    asked: dict[Subject, Asked]
    ballot: Ballot
    disputed: dict[Subject, str]
    """Subjects in dispute, in the order asked, with their guiding questions."""
    agreement: float


def find_matter(connection: Connection, person: Person, project: str, task_id: int, *, lock: bool = False) -> (
    Matter | None
):  # fmt: skip
    """A task that waits, or that `person` decided; ``None`` if it is neither, or they are no adjudicator of it."""
    query = select(tasks).join(projects, projects.c.id == tasks.c.project_id)
    query = query.where(tasks.c.id == bounded(task_id), tasks.c.live)
    if project:
        query = query.where(projects.c.name == project)
    row = connection.execute(query.with_for_update(of=tasks) if lock else query).first()
    me = select(people.c.projects).where(
        people.c.id == person.id, people.c.revoked.is_(False), people.c.role == "adjudicator"
    )
    of = connection.execute(me).scalar()
    work = find_work(connection, row.project_id) if row is not None else None
    if row is None or work is None or of is None or not member(of, work.name):
        return None
    task = blind_task_of(row)
    asked = work.asked(task)
    ballot = ballot_of(connection, current.c.task_id == task_id)
    verdicts = verdicts_of(asked, ballot, work.spec)
    found = in_dispute(verdicts)
    mine = any(ballot.decisions.get(subject, ("", 0))[0] == person.code for subject in found)
    if row.gold or not found or not (verdicts.disputed or mine):
        return None
    disputed = {subject: asked[subject].question for subject in asked if subject in found}
    return Matter(row, work, task, asked, ballot, disputed, share_agreed(asked, work, verdicts))


def hold(connection: Connection, person: Person, matter: Matter) -> Any:
    """The adjudicator's assignment of the task; there is one from when they first look at it."""
    row = holding.find(connection, person, matter.row.id, lock=True)
    if row is None:
        values = {"project_id": matter.work.id, "task_id": matter.row.id, "person_id": person.id, "live": True}
        connection.execute(insert(assignments).values(**values, state="open", flagged=False, note=""))
        row = holding.find(connection, person, matter.row.id, lock=True)
    return row


def held(connection: Connection, person: Person, task_id: int) -> Any | None:
    """The adjudicator's assignment, if there is one."""
    return holding.find(connection, person, task_id)


def as_dispute(connection: Connection, matter: Matter, row: Any | None) -> Dispute:
    """The task as the adjudicator has it who holds `row`."""
    order = _order(connection, matter)
    decided = {s: matter.ballot.decisions[s][1] for s in matter.disputed if s in matter.ballot.decisions}
    said: Mapping[str, Any] = {}
    if row is not None and row.done_event is not None:
        said = load(connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one())
    return Dispute(
        project=matter.work.name,
        task=matter.task,
        task_id=matter.row.id,
        subjects=tuple((_with_text(matter, subject), question) for subject, question in matter.disputed.items()),
        peers={
            subject: tuple(matter.ballot.votes.get(subject, {}).get(code) for code, _ in order)
            for subject in matter.disputed
        },
        notes=tuple(note for _, note in order),
        agreement=matter.agreement,
        decided=decided,
        reason=str(said.get("reason", "")),
        flagged=row is not None and bool(row.flagged),
        draft=holding.draft_of(row) if row is not None else None,
        remaining=waiting(connection, matter.work.name),
    )


def _with_text(matter: Matter, subject: Subject) -> Subject:
    return matter.asked[subject].subject


def _order(connection: Connection, matter: Matter) -> list[tuple[str, str]]:
    """Codes and remarks of those who voted, in an order that says nothing of who they are."""
    voted = {code for subject in matter.asked for code in matter.ballot.votes.get(subject, {})}
    query = select(people.c.code, assignments.c.note).join(people, people.c.id == assignments.c.person_id)
    query = query.where(assignments.c.task_id == matter.row.id)
    notes = {code: note for code, note in connection.execute(query)}  # noqa: C416
    codes = sorted(voted)
    random.Random(f"{matter.work.seed}:peers:{matter.row.key}").shuffle(codes)
    return [(code, notes.get(code, "")) for code in codes]


def decide(
    connection: Connection, person: Person, task_id: int, submission: Submission, now: datetime
) -> Outcome:  # fmt: skip
    """Keep an adjudicator's decisions about all that is in dispute."""
    matter = find_matter(connection, person, "", task_id, lock=True)
    if matter is None:
        return "foreign"
    values = annotator_queries.cleaned(submission.values)
    outcome = annotator_queries.checked(matter.work, {s: matter.asked[s] for s in matter.disputed}, values)
    if outcome == "kept" and any(subject not in values for subject in matter.disputed):
        outcome = "incomplete"
    if outcome != "kept":
        return outcome
    if _overrides(matter, values) and not submission.reason.strip():
        return "reasonless"
    _keep(connection, matter, hold(connection, person, matter), person.code, submission, values, now)
    annotator_queries.settle_one(connection, matter.work, task_id)
    return "kept"


def _overrides(matter: Matter, values: Mapping[Subject, Value]) -> bool:
    questions = matter.work.spec.asked()
    return any(
        overrides(questions[matter.disputed[subject]], value, list(matter.ballot.votes.get(subject, {}).values()))
        for subject, value in values.items()
    )


def _keep(
    connection: Connection, matter: Matter, row: Any, mine: str, submission: Submission,
    values: Mapping[Subject, Value], now: datetime,
) -> None:  # fmt: skip
    """`mine` is the code of the adjudicator: a decision that counts may be another's."""
    place, note = holding.place_of(row), short(submission.note)
    counting = {s: v for s, (code, v) in matter.ballot.decisions.items() if s in matter.disputed and code == mine}
    new = annotator_queries.changes(counting, values)
    said: dict[str, Any] = {
        "note": note, "reason": short(submission.reason), "confidence": short(submission.confidence),
        "error_kinds": [short(kind) for kind in submission.error_kinds], "guideline_gap": submission.guideline_gap,
    }  # fmt: skip
    detail = {name: value for name, value in said.items() if value}
    if row.state == "done" and row.alive_at is None and not new and detail == _said(connection, row):
        return
    times = holding.closed(row, now)
    event = note_event(
        connection, place, "submit", now, seconds=holding.seconds_of(row, times),
        active=submission.active_seconds, detail=detail,
    )  # fmt: skip
    cast(connection, place, event, new, matter.disputed, door="app", now=now)
    holding.drop_draft(connection, row)
    holding.change(connection, row, state="done", note=note, done_event=event, **times)


def _said(connection: Connection, row: Any) -> Any:
    if row.done_event is None:
        return {}
    return load(connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one())


def progress(connection: Connection, person: Person, project: str) -> Progress:
    """How far an adjudicator is; open is what waits, for whoever takes it."""
    id_ = select(projects.c.id).where(projects.c.name == project).scalar_subquery()
    mine = (assignments.c.person_id == person.id) & (assignments.c.project_id == id_)
    query = select(assignments.c.state, assignments.c.flagged, WAITS, func.count())
    query = query.join(tasks, tasks.c.id == assignments.c.task_id).where(mine, tasks.c.live)
    query = query.group_by(assignments.c.state, assignments.c.flagged, WAITS)
    rows = connection.execute(query).all()
    done = sum(n for state, _, waits, n in rows if state == "done" and not waits)
    skipped = sum(n for state, _, waits, n in rows if state == "skipped" and waits)
    timed = select(func.count()).select_from(assignments).where(mine, assignments.c.live, assignments.c.state == "done")
    return Progress(
        done=done,
        open=waiting(connection, project) - skipped,
        skipped=skipped,
        flagged=sum(n for _, flagged, _, n in rows if flagged),
        median_seconds=annotator_queries.median_seconds(
            connection, person, project, int(connection.execute(timed).scalar_one())
        ),
    )
