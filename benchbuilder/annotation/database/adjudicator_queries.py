"""Actions of adjudicators: decide disputes without learning who gave which answer."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, exists, func, insert, select

from benchbuilder.annotation.aggregate import aggregate_votes, overrides_annotators
from benchbuilder.annotation.base import Subject, Task, Value, Votes
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database.models import Dispute, Person, Progress, Submission, SubmissionOutcome
from benchbuilder.annotation.database.projects import ProjectRef, blind_task_from_row, find_project_ref
from benchbuilder.annotation.database.record_votes import (
    agreement_proportion,
    disputed_subjects,
    load_votes,
    record_event,
    record_votes,
)
from benchbuilder.annotation.database.sanitise import load_json, storable_note
from benchbuilder.annotation.database.schema import (
    IS_DISPUTED,
    assignments,
    bounded_number,
    current_votes,
    events,
    people,
    projects,
    tasks,
)
from benchbuilder.annotation.database.users import is_project_member
from benchbuilder.annotation.tasks import JudgementRequest


def count_waiting(connection: Connection, project: str) -> int:
    """How many tasks wait for an adjudicator."""
    query = select(func.count()).select_from(tasks).join(projects, projects.c.id == tasks.c.project_id)
    return int(connection.execute(query.where(projects.c.name == project, IS_DISPUTED)).scalar_one())


def next_disputed_task(
    connection: Connection, person: Person, project: str, skip: Collection[int], now: datetime
) -> int | None:  # fmt: skip
    """The waiting task with the lowest agreement.

    Tasks that another adjudicator has open come later, and skipped ones last.
    """
    mine = assignments.alias("mine")
    others = assignments.alias("others")
    query = select(tasks.c.id).join(projects, projects.c.id == tasks.c.project_id)
    query = query.outerjoin(mine, (mine.c.task_id == tasks.c.id) & (mine.c.person_id == person.id))
    query = query.where(projects.c.name == project, IS_DISPUTED, tasks.c.id.not_in(skip))
    busy = exists().where(
        others.c.task_id == tasks.c.id, others.c.person_id != person.id,
        others.c.alive_at > now - assignment_queries.PAUSE_LIMIT,
        others.c.person_id == people.c.id, people.c.role == "adjudicator",
    )  # fmt: skip
    last = case((mine.c.state == "skipped", 2), (busy, 1), else_=0)
    return connection.execute(query.order_by(last, tasks.c.agreement, tasks.c.id).limit(1)).scalar()


class DisputedTask(NamedTuple):
    """A disputed task: its row in `tasks`, the requests about it, and the votes on it."""

    row: Any
    project: ProjectRef
    task: Task
    requests: dict[Subject, JudgementRequest]
    votes: Votes
    disputed_questions: dict[Subject, str]
    """Subjects in dispute in the order of the requests, with the names of their guiding questions."""
    agreement: float


def find_disputed_task(connection: Connection, person: Person, project: str, task_id: int, *, lock: bool = False) -> (
    DisputedTask | None
):  # fmt: skip
    """A task that waits or that `person` decided; ``None`` otherwise, or if they are not an adjudicator of it."""
    query = select(tasks).join(projects, projects.c.id == tasks.c.project_id)
    query = query.where(tasks.c.id == bounded_number(task_id), tasks.c.live)
    if project:
        query = query.where(projects.c.name == project)
    row = connection.execute(query.with_for_update(of=tasks) if lock else query).first()
    me = select(people.c.projects).where(
        people.c.id == person.id, people.c.revoked.is_(False), people.c.role == "adjudicator"
    )
    of = connection.execute(me).scalar()
    work = find_project_ref(connection, row.project_id) if row is not None else None
    if row is None or work is None or of is None or not is_project_member(of, work.name):
        return None
    task = blind_task_from_row(row)
    asked = work.judgement_requests(task)
    ballot = load_votes(connection, current_votes.c.task_id == task_id)
    verdicts = aggregate_votes(asked, ballot, work.spec)
    found = disputed_subjects(verdicts)
    mine = any(ballot.decisions.get(subject, ("", 0))[0] == person.code for subject in found)
    if row.gold or not found or not (verdicts.disputed_subjects or mine):
        return None
    disputed = {subject: asked[subject].question for subject in asked if subject in found}
    return DisputedTask(row, work, task, asked, ballot, disputed, agreement_proportion(asked, work, verdicts))


def ensure_assignment(connection: Connection, person: Person, disputed_task: DisputedTask) -> Any:
    """The adjudicator's assignment of the task; it is created when they first open it."""
    row = assignment_queries.find_by_task(connection, person, disputed_task.row.id, lock=True)
    if row is None:
        values = {
            "project_id": disputed_task.project.id,
            "task_id": disputed_task.row.id,
            "person_id": person.id,
            "live": True,
        }
        connection.execute(insert(assignments).values(**values, state="open", flagged=False, note=""))
        row = assignment_queries.find_by_task(connection, person, disputed_task.row.id, lock=True)
    return row


def adjudicator_assignment(connection: Connection, person: Person, task_id: int) -> Any | None:
    """The adjudicator's assignment, if any."""
    return assignment_queries.find_by_task(connection, person, task_id)


def make_dispute(connection: Connection, disputed_task: DisputedTask, row: Any | None) -> Dispute:
    """The dispute as shown to the adjudicator with the assignment `row`."""
    order = _anonymous_notes(connection, disputed_task)
    decided = {
        s: disputed_task.votes.decisions[s][1]
        for s in disputed_task.disputed_questions
        if s in disputed_task.votes.decisions
    }
    detail: Mapping[str, Any] = {}
    if row is not None and row.done_event is not None:
        detail = load_json(
            connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one()
        )
    return Dispute(
        project=disputed_task.project.name,
        task=disputed_task.task,
        task_id=disputed_task.row.id,
        subjects=tuple(
            (_with_text(disputed_task, subject), question)
            for subject, question in disputed_task.disputed_questions.items()
        ),
        peer_answers={
            subject: tuple(disputed_task.votes.by_subject.get(subject, {}).get(code) for code, _ in order)
            for subject in disputed_task.disputed_questions
        },
        notes=tuple(note for _, note in order),
        agreement=disputed_task.agreement,
        decisions=decided,
        reason=str(detail.get("reason", "")),
        flagged=row is not None and bool(row.flagged),
        draft=assignment_queries.stored_draft(row) if row is not None else None,
        remaining=count_waiting(connection, disputed_task.project.name),
    )


def _with_text(disputed_task: DisputedTask, subject: Subject) -> Subject:
    return disputed_task.requests[subject].subject


def _anonymous_notes(connection: Connection, disputed_task: DisputedTask) -> list[tuple[str, str]]:
    """Codes and remarks of voters, in an order that does not reveal who they are."""
    voted = {code for subject in disputed_task.requests for code in disputed_task.votes.by_subject.get(subject, {})}
    query = select(people.c.code, assignments.c.note).join(people, people.c.id == assignments.c.person_id)
    query = query.where(assignments.c.task_id == disputed_task.row.id)
    notes = {code: note for code, note in connection.execute(query)}  # noqa: C416
    codes = sorted(voted)
    random.Random(f"{disputed_task.project.seed}:peers:{disputed_task.row.key}").shuffle(codes)
    return [(code, notes.get(code, "")) for code in codes]


def submit_decisions(
    connection: Connection, person: Person, task_id: int, submission: Submission, now: datetime
) -> SubmissionOutcome:  # fmt: skip
    """Save an adjudicator's decisions on everything in dispute."""
    matter = find_disputed_task(connection, person, "", task_id, lock=True)
    if matter is None:
        return "foreign"
    values = annotator_queries.sanitise_values(submission.values)
    outcome = annotator_queries.check_submission(
        matter.project, {s: matter.requests[s] for s in matter.disputed_questions}, values
    )
    if outcome == "kept" and any(subject not in values for subject in matter.disputed_questions):
        outcome = "incomplete"
    if outcome != "kept":
        return outcome
    if _overrides_annotators(matter, values) and not submission.reason.strip():
        return "reasonless"
    _write_decisions(
        connection, matter, ensure_assignment(connection, person, matter), person.code, submission, values, now
    )
    annotator_queries.update_task_disputes(connection, matter.project, task_id)
    return "kept"


def _overrides_annotators(disputed_task: DisputedTask, values: Mapping[Subject, Value]) -> bool:
    questions = disputed_task.project.spec.questions_about()
    return any(
        overrides_annotators(
            questions[disputed_task.disputed_questions[subject]],
            value,
            list(disputed_task.votes.by_subject.get(subject, {}).values()),
        )
        for subject, value in values.items()
    )


def _write_decisions(
    connection: Connection, disputed_task: DisputedTask, row: Any, own_code: str, submission: Submission,
    values: Mapping[Subject, Value], now: datetime,
) -> None:  # fmt: skip
    """Write decisions; `own_code` is the adjudicator's code, as current decisions may be from another adjudicator."""
    place, note = assignment_queries.assignment_key(row), storable_note(submission.note)
    counting = {
        s: v
        for s, (code, v) in disputed_task.votes.decisions.items()
        if s in disputed_task.disputed_questions and code == own_code
    }
    new = annotator_queries.vote_changes(counting, values)
    given: dict[str, Any] = {
        "note": note, "reason": storable_note(submission.reason), "confidence": storable_note(submission.confidence),
        "error_kinds": [storable_note(kind) for kind in submission.error_kinds],
        "guideline_gap": submission.guideline_gap,
    }  # fmt: skip
    detail = {name: value for name, value in given.items() if value}
    if row.state == "done" and row.alive_at is None and not new and detail == _last_event_detail(connection, row):
        return
    times = assignment_queries.closing_values(row, now)
    event = record_event(
        connection, place, "submit", now, seconds=assignment_queries.visit_seconds(row, times),
        active=submission.active_seconds, detail=detail,
    )  # fmt: skip
    record_votes(connection, place, event, new, disputed_task.disputed_questions, channel="app", now=now)
    assignment_queries.delete_draft(connection, row)
    assignment_queries.update_assignment(connection, row, state="done", note=note, done_event=event, **times)


def _last_event_detail(connection: Connection, row: Any) -> Any:
    if row.done_event is None:
        return {}
    return load_json(connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one())


def adjudicator_progress(connection: Connection, person: Person, project: str) -> Progress:
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
        open=count_waiting(connection, project) - skipped,
        skipped=skipped,
        flagged=sum(n for _, flagged, _, n in rows if flagged),
        median_seconds=annotator_queries.median_seconds(
            connection, person, project, int(connection.execute(timed).scalar_one())
        ),
    )
