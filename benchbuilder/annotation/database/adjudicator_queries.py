"""Actions of adjudicators: decide disputes without learning who gave which answer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, exists, func, select

from benchbuilder.annotation.aggregate import aggregate_votes, overrides_annotators
from benchbuilder.annotation.base import Subject, Task, Value, Votes
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database.connection import StoreBase
from benchbuilder.annotation.database.models import Dispute, Person, Submission, SubmissionOutcome
from benchbuilder.annotation.database.page_state import hash_texts
from benchbuilder.annotation.database.projects import ProjectRef, blind_task_from_row, find_project_ref
from benchbuilder.annotation.database.record_votes import (
    AssignmentKey,
    agreement_proportion,
    disputed_subjects,
    load_votes,
    record_event,
    record_votes,
)
from benchbuilder.annotation.database.sanitise import dump_json, load_json, storable_details, storable_note
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
from benchbuilder.annotation.database.users import is_project_member, works_on_project
from benchbuilder.annotation.recheck import VOTERS, is_barred
from benchbuilder.annotation.tasks import JudgementRequest


def count_waiting(connection: Connection, project: str, person: Person | None = None) -> int:
    """How many tasks wait for an adjudicator, or for `person`, who does not get items that they voted on before."""
    query = select(func.count()).select_from(tasks).join(projects, projects.c.id == tasks.c.project_id)
    query = query.where(projects.c.name == project, IS_DISPUTED)
    waiting = int(connection.execute(query).scalar_one())
    if person is None or not waiting:
        return waiting
    named = query.with_only_columns(tasks.c.about).where(tasks.c.about.contains(f'"{VOTERS}"'))
    return waiting - sum(is_barred(load_json(about), person.code, person.name) for about in connection.scalars(named))


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


def find_disputed_task(
    connection: Connection, person: Person, project: str, task_id: int, *, lock: bool = False
) -> DisputedTask | None:
    """A task that waits or that `person` decided; ``None`` otherwise, or if they are not an adjudicator of it."""
    query = select(tasks).join(projects, projects.c.id == tasks.c.project_id)
    query = query.where(tasks.c.id == bounded_number(task_id), tasks.c.live)
    if project:
        query = query.where(projects.c.name == project)
    row = connection.execute(query.with_for_update(of=tasks) if lock else query).first()
    query = select(people.c.projects).where(people.c.id == person.id, people.c.revoked.is_(False))
    own_projects = connection.execute(query.where(people.c.role == "adjudicator")).scalar()
    ref = find_project_ref(connection, row.project_id) if row is not None else None
    if row is None or ref is None or own_projects is None or not is_project_member(own_projects, ref.name):
        return None
    if is_barred(load_json(row.about), person.code, person.name):
        return None
    task = blind_task_from_row(row)
    requests = ref.judgement_requests(task)
    votes = load_votes(connection, current_votes.c.task_id == task_id)
    labels = aggregate_votes(requests, votes, ref.spec)
    disputed = disputed_subjects(labels)
    decided = any(votes.decisions.get(subject, ("", 0))[0] == person.code for subject in disputed)
    if row.gold or not disputed or not (labels.disputed_subjects or decided):
        return None
    questions = {subject: requests[subject].question for subject in requests if subject in disputed}
    return DisputedTask(row, ref, task, requests, votes, questions, agreement_proportion(requests, ref, labels))


def ensure_assignment(connection: Connection, person: Person, disputed_task: DisputedTask) -> Any:
    """The adjudicator's assignment of the task; it is created when they first open it."""
    key = AssignmentKey(disputed_task.project.id, disputed_task.row.id, person.id)
    row = assignment_queries.find_by_task(connection, person, key.task_id, lock=True)
    if row is None:
        assignment_queries.insert_assignment(connection, key)
        row = assignment_queries.find_by_task(connection, person, key.task_id, lock=True)
    return row


def make_dispute(connection: Connection, disputed_task: DisputedTask, row: Any | None) -> Dispute:
    """The dispute as shown to the adjudicator with the assignment `row`."""
    order = _anonymous_notes(connection, disputed_task)
    decisions = disputed_task.votes.decisions
    detail = _last_event_detail(connection, row) if row is not None else {}
    return Dispute(
        project=disputed_task.project.name,
        task=disputed_task.task,
        task_id=disputed_task.row.id,
        subjects=tuple(
            (disputed_task.requests[subject].subject, question)
            for subject, question in disputed_task.disputed_questions.items()
        ),
        peer_answers={
            subject: tuple(disputed_task.votes.by_subject.get(subject, {}).get(code) for code, _ in order)
            for subject in disputed_task.disputed_questions
        },
        notes=tuple(note for _, note in order),
        agreement=disputed_task.agreement,
        decisions={s: decisions[s][1] for s in disputed_task.disputed_questions if s in decisions},
        reason=str(detail.get("reason", "")),
        flagged=row is not None and bool(row.flagged),
        draft=assignment_queries.stored_draft(row) if row is not None else None,
        remaining=count_waiting(connection, disputed_task.project.name),
        version=_dispute_hash(disputed_task, detail),
    )


def _dispute_hash(disputed_task: DisputedTask, detail: Mapping[str, Any]) -> str:
    """Hash of what is in dispute, of all answers and decisions on it, and of the `detail` of the own decision.

    It must not depend on who gave an answer: adjudicators see it, and could try all codes.
    """
    votes = disputed_task.votes
    lines: list[str] = []
    for subject in disputed_task.disputed_questions:
        answers = sorted(map(dump_json, votes.by_subject.get(subject, {}).values()))
        _, decision = votes.decisions.get(subject, ("", None))
        lines.append(dump_json([subject.key, subject.wording, answers, decision]))
    return hash_texts({"dispute": "\n".join(sorted(lines)), "detail": dump_json(detail)})


def _anonymous_notes(connection: Connection, disputed_task: DisputedTask) -> list[tuple[str, str]]:
    """Codes and remarks of voters, in an order that does not reveal who they are."""
    voted = {code for subject in disputed_task.requests for code in disputed_task.votes.by_subject.get(subject, {})}
    query = select(people.c.code, assignments.c.note).join(people, people.c.id == assignments.c.person_id)
    query = query.where(assignments.c.task_id == disputed_task.row.id)
    notes = {code: note for code, note in connection.execute(query)}  # noqa: C416
    codes = sorted(voted)
    random.Random(f"{disputed_task.project.seed}:peers:{disputed_task.row.key}").shuffle(codes)
    return [(code, notes.get(code, "")) for code in codes]


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
) -> bool:  # fmt: skip
    """Write decisions; ``False`` if something else counts now than what the page showed.

    `own_code` is the adjudicator's code, as current decisions may be from another adjudicator.
    """
    key, note = assignment_queries.assignment_key(row), storable_note(submission.note)
    counting = {
        s: v
        for s, (code, v) in disputed_task.votes.decisions.items()
        if s in disputed_task.disputed_questions and code == own_code
    }
    new = annotator_queries.vote_changes(counting, values)
    detail = ({"note": note} if note else {}) | storable_details(submission)
    before = _last_event_detail(connection, row)
    same = row.state == "done" and not new and detail == before
    if same and row.alive_at is None:
        return True
    if not same and submission.seen is not None and submission.seen.answers != _dispute_hash(disputed_task, before):
        return False
    times = assignment_queries.closing_values(row, now)
    event = record_event(
        connection, key, "submit", now, seconds=assignment_queries.visit_seconds(row, times),
        active=submission.active_seconds, detail=detail,
    )  # fmt: skip
    record_votes(connection, key, event, new, disputed_task.disputed_questions, channel="app", now=now)
    assignment_queries.delete_known_draft(connection, row, submission.seen)
    assignment_queries.update_assignment(connection, row, state="done", note=note, done_event=event, **times)
    return True


def _last_event_detail(connection: Connection, row: Any) -> Any:
    if row.done_event is None:
        return {}
    return load_json(connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one())


class AdjudicatorStore(StoreBase):
    """What adjudicators do: open and decide disputes."""

    def count_disputes(self, project: str, person: Person | None = None) -> int:
        """How many tasks wait for an adjudicator, or for `person`."""
        with self._transactions.reading() as connection:
            return count_waiting(connection, project, person)

    def next_dispute(self, person: Person, project: str, skip: frozenset[int] = frozenset()) -> int | None:
        """Id of the task that an adjudicator decides next: the one with the lowest agreement, except those in `skip`.

        Tasks that another adjudicator has open come later, and skipped ones last. Tasks of items that they voted on
        before are not for them.
        """
        if person.role != "adjudicator":
            return None
        now = self._clock()
        mine = assignments.alias("mine")
        others = assignments.alias("others")
        query = select(tasks.c.id, tasks.c.about).join(projects, projects.c.id == tasks.c.project_id)
        query = query.outerjoin(mine, (mine.c.task_id == tasks.c.id) & (mine.c.person_id == person.id))
        query = query.where(projects.c.name == project, IS_DISPUTED, tasks.c.id.not_in(skip))
        busy = exists().where(
            others.c.task_id == tasks.c.id, others.c.person_id != person.id,
            others.c.alive_at > now - assignment_queries.PAUSE_LIMIT,
            others.c.person_id == people.c.id, people.c.role == "adjudicator",
        )  # fmt: skip
        last = case((mine.c.state == "skipped", 2), (busy, 1), else_=0)
        query = query.order_by(last, tasks.c.agreement, tasks.c.id)
        with self._transactions.reading() as connection:
            if not works_on_project(connection, person, project):
                return None
            waiting = connection.execute(query)
            free = (row.id for row in waiting if not is_barred(load_json(row.about), person.code, person.name))
            return next(free, None)

    def dispute(self, person: Person, project: str, task_id: int, *, opening: bool = True) -> Dispute | None:
        """A disputed task that waits or that they decided; `opening` starts its clock."""
        now = self._clock()
        with self._transactions.reading() as connection:
            task = find_disputed_task(connection, person, project, task_id)
            if task is None:
                return None
            row = assignment_queries.find_by_task(connection, person, task_id)
            if not opening or (row is not None and not assignment_queries.needs_opening(row, now)):
                return make_dispute(connection, task, row)
        with self._transactions.writing() as connection:
            task = find_disputed_task(connection, person, project, task_id, lock=True)
            if task is None:
                return None
            row = ensure_assignment(connection, person, task)
            assignment_queries.open_assignment(connection, row, now)
            return make_dispute(connection, task, row)

    def submit_decisions(self, person: Person, task_id: int, submission: Submission) -> SubmissionOutcome:
        """Save an adjudicator's decisions on everything in dispute in a task."""
        with self._transactions.writing() as connection:
            task = find_disputed_task(connection, person, "", task_id, lock=True)
            if task is None:
                return "foreign"
            values = annotator_queries.sanitise_values(submission.values)
            requests = {subject: task.requests[subject] for subject in task.disputed_questions}
            outcome = annotator_queries.check_submission(task.project, requests, values)
            if outcome == "kept" and any(subject not in values for subject in task.disputed_questions):
                outcome = "incomplete"
            if outcome != "kept":
                return outcome
            if _overrides_annotators(task, values) and not submission.reason.strip():
                return "reasonless"
            row = ensure_assignment(connection, person, task)
            if not _write_decisions(connection, task, row, person.code, submission, values, self._clock()):
                return "overtaken"
            annotator_queries.update_task_disputes(connection, task.project, task_id)
            return "kept"
