"""Actions of annotators: list, open, submit and undo tasks. Every query is limited to their own rows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database import sanitise
from benchbuilder.annotation.database.assignments import AssignmentStore
from benchbuilder.annotation.database.models import (
    Assignment,
    ListedAssignment,
    OvertakenError,
    Person,
    Submission,
    SubmissionOutcome,
)
from benchbuilder.annotation.database.page_state import answer_texts, hash_answers, hash_texts
from benchbuilder.annotation.database.projects import ProjectRef, blind_task_from_row, find_project_ref
from benchbuilder.annotation.database.record_votes import (
    load_values,
    record_event,
    record_votes,
    same_value,
    update_disputes,
)
from benchbuilder.annotation.database.sanitise import load_json, storable_note, storable_text
from benchbuilder.annotation.database.schema import assignments, bounded_number, drafts, events, projects, tasks
from benchbuilder.annotation.database.users import works_on_project
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.annotation.values import is_allowed_value

PROJECT_ID = select(projects.c.id).where(projects.c.name == bindparam("project")).scalar_subquery()
THEIRS = (assignments.c.person_id == bindparam("person")) & (assignments.c.project_id == PROJECT_ID)
_NEXT = [
    select(func.min(assignments.c.place)).where(
        THEIRS, assignments.c.live, assignments.c.state == bindparam("state"), condition
    )
    for condition in (assignments.c.place > bindparam("after"), assignments.c.place <= bindparam("after"))
]
TOTAL = select(func.max(assignments.c.place)).where(THEIRS)
_LAST_DONE = (
    select(assignments.c.id)
    .join(events, events.c.id == assignments.c.done_event)
    .where(THEIRS, assignments.c.done_event.is_not(None), assignments.c.live, assignments.c.state == "done")
    .where(events.c.kind == "submit")
    .order_by(assignments.c.done_event.desc())
    .limit(1)
)


def make_assignment(connection: Connection, person: Person, row: Any, updates: Mapping[str, Any]) -> Assignment:
    """The assignment of a row of `assignments.find_by_number`; `updates` are columns that changed since."""
    columns = {**row._mapping, **updates}
    total = connection.execute(TOTAL, {"person": person.id, "project": row.name}).scalar()
    answers = load_values(connection, assignment_queries.assignment_key(row))
    return Assignment(
        id=row.id,
        project=row.name,
        task=blind_task_from_row(row),
        task_id=row.task_id,
        number=row.place,
        total=int(total or 0),
        state=row.state,
        flagged=row.flagged,
        answers=answers,
        note=row.note,
        draft=assignment_queries.stored_draft(row),
        opened_at=columns["opened_at"],
        seconds=round(columns["seconds"] + (0.0 if row.state == "done" else columns["spent"]), 3),
        version=hash_answers(answers, row.note),
    )


def check_submission(
    project: ProjectRef, requests: Mapping[Subject, JudgementRequest], values: Mapping[Subject, Value]
) -> SubmissionOutcome:
    """Check that `values` answer every required request, and nothing else."""
    questions = project.spec.questions_about()
    if any(subject not in requests for subject in values):
        return "retired"
    if not all(is_allowed_value(questions[requests[subject].question], value) for subject, value in values.items()):
        return "incomplete"
    needed = (subject for subject, request in requests.items() if questions[request.question].required)
    return "kept" if all(subject in values for subject in needed) else "incomplete"


def sanitise_values(values: Mapping[Subject, Value]) -> dict[Subject, Value]:
    """`values` as they are stored: 1 and not 1.0, and storable texts."""
    return {subject: _sanitise_value(value) for subject, value in values.items()}


def _sanitise_value(value: Value) -> Value:
    if isinstance(value, str):
        return storable_text(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def vote_changes(old: Mapping[Subject, Value], new: Mapping[Subject, Value]) -> dict[Subject, Value | None]:
    """The changes from the votes `old` to `new`; ``None`` withdraws a vote."""
    changes: dict[Subject, Value | None] = {s: v for s, v in new.items() if not same_value(old.get(s), v)}
    return changes | {subject: None for subject in old if subject not in new}


def update_task_disputes(connection: Connection, project: ProjectRef, task_id: int) -> None:
    """Update the disputes of a task."""
    update_disputes(connection, project, [task_id])


def _last_submission(connection: Connection, person: Person, project: str, *, lock: bool = False) -> Any | None:
    """The assignment of their last submission in the app."""
    while True:
        id_ = connection.execute(_LAST_DONE, {"person": person.id, "project": project}).scalar()
        row = None if id_ is None else assignment_queries.find_by_id(connection, person, id_, lock=lock)
        if row is None or (row.live and row.state == "done" and row.done_event is not None):
            return row
        # Another request withdrew it while this one waited for the lock.


def _submission_hash(connection: Connection, row: Any) -> str:
    """Hash of a submission: its task, its answers, and what was said about them."""
    texts = answer_texts(load_values(connection, assignment_queries.assignment_key(row)), row.note)
    detail = connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one()
    return hash_texts({**texts, "task": row.key, "detail": detail})


def _withdraw_submission(
    connection: Connection, row: Any, requests: Mapping[Subject, JudgementRequest], now: datetime
) -> None:
    """Undo a submission: withdraw its votes, and keep them in the draft.

    Imported votes stay. The draft also keeps answers to questions that are not asked at the moment, so that they are
    in the form when the questions return.
    """
    detail = connection.execute(select(events.c.detail).where(events.c.id == row.done_event)).scalar_one()
    key = assignment_queries.assignment_key(row)
    values = load_values(connection, key)
    old = [subject for subject in load_values(connection, key, channel="app") if subject in requests]
    times = assignment_queries.closing_values(row, now)
    undone = {"undone": row.done_event}
    event = record_event(
        connection, key, "undo", now, seconds=assignment_queries.visit_seconds(row, times), detail=undone
    )
    none = dict.fromkeys(old, None)
    record_votes(connection, key, event, none, {s: requests[s].question for s in old}, channel="app", now=now)
    assignment_queries.replace_draft(
        connection, row, sanitise.make_draft_data(values, row.note, load_json(detail)), now
    )
    assignment_queries.update_assignment(connection, row, state="open", note="", done_event=None, **times)


class AnnotatorStore(AssignmentStore):
    """What annotators do: list, open and submit their tasks, and withdraw submissions."""

    def next_number(self, person: Person, project: str, after: int = 0) -> int | None:
        """The number of their next task: open ones after number `after`, then other open ones, then skipped ones."""
        named = {"person": person.id, "project": project, "after": bounded_number(after)}
        with self._transactions.reading() as connection:
            if works_on_project(connection, person, project):
                for state in ("open", "skipped"):
                    for query in _NEXT:
                        number = connection.execute(query, {**named, "state": state}).scalar()
                        if number is not None:
                            return int(number)
        return None

    def assignment(self, person: Person, project: str, number: int, *, opening: bool = True) -> Assignment | None:
        """Their task with `number`; `opening` starts its clock if it is not running yet."""
        now = self._clock()
        with self._transactions.reading() as connection:
            row = assignment_queries.find_by_number(connection, person, project, number)
            if row is None or not row.task_live:
                return None
            if not opening or not assignment_queries.needs_opening(row, now):
                return make_assignment(connection, person, row, {})
        with self._transactions.writing() as connection:
            row = assignment_queries.find_by_number(connection, person, project, number, lock=True)
            if row is None or not row.task_live:
                return None
            updates = assignment_queries.open_assignment(connection, row, now)
            return make_assignment(connection, person, row, updates)

    def list_assignments(
        self, person: Person, project: str, *, state: str = "", start: int = 1, count: int = 50
    ) -> list[ListedAssignment]:
        """Up to `count` of their tasks from number `start` on, by number; `state` may also be ``flagged``."""
        columns = (assignments.c.place, assignments.c.task_id, assignments.c.state, assignments.c.flagged)
        query = select(*columns, tasks.c.shown, drafts.c.assignment_id.label("draft"))
        query = query.join(tasks, tasks.c.id == assignments.c.task_id)
        query = query.outerjoin(drafts, drafts.c.assignment_id == assignments.c.id)
        query = query.where(THEIRS, assignments.c.place >= bounded_number(start))
        if state == "flagged":
            query = query.where(assignments.c.flagged)
        elif state:
            query = query.where(assignments.c.live, assignments.c.state == state)
        query = query.order_by(assignments.c.place).limit(bounded_number(count))
        with self._transactions.reading() as connection:
            if not works_on_project(connection, person, project):
                return []
            rows = connection.execute(query, {"person": person.id, "project": project}).all()
        return [
            ListedAssignment(row.place, row.task_id, row.state, row.flagged, row.draft is not None,
                             load_json(row.shown)["fields"][0][1])
            for row in rows
        ]  # fmt: skip

    def submit(self, person: Person, task_id: int, submission: Submission) -> SubmissionOutcome:
        """Save votes on all questions of a task; a repetition without changes and without opening it counts once."""
        with self._transactions.writing() as connection:
            return _submit_answers(connection, person, task_id, submission, self._clock())

    def last_submission(self, person: Person, project: str) -> str:
        """Hash of their last submission, empty if there is none: `undo_last` withdraws no other one by mistake."""
        with self._transactions.reading() as connection:
            row = _last_submission(connection, person, project)
            return "" if row is None else _submission_hash(connection, row)

    def undo_last(self, person: Person, project: str, seen: str | None = None) -> int | None:
        """Withdraw their last submission, one more with each call: the task is open again, with a draft of the answers.

        Returns the number of the task (for an adjudicator its id), or ``None`` if nothing is left. Imported votes are
        never withdrawn.

        Raises:
            OvertakenError: the last submission is not the one with the hash `seen`.
        """
        with self._transactions.writing() as connection:
            row = _last_submission(connection, person, project, lock=True)
            ref = find_project_ref(connection, row.project_id) if row is not None else None
            if row is None or ref is None:
                return None
            if seen is not None and seen != _submission_hash(connection, row):
                raise OvertakenError
            requests = ref.judgement_requests(blind_task_from_row(row))
            _withdraw_submission(connection, row, requests, self._clock())
            update_task_disputes(connection, ref, row.task_id)
            return row.task_id if row.role == "adjudicator" else row.place


def _submit_answers(
    connection: Connection, person: Person, task_id: int, submission: Submission, now: datetime
) -> SubmissionOutcome:
    row = assignment_queries.find_by_task(connection, person, task_id, lock=True)
    if row is None or row.role != "annotator":
        return "foreign"
    ref = find_project_ref(connection, row.project_id)
    if ref is None or not (row.task_live and row.live):
        return "retired"
    requests, values = ref.judgement_requests(blind_task_from_row(row)), sanitise_values(submission.values)
    outcome = check_submission(ref, requests, values)
    if outcome != "kept":
        return outcome
    key, note = assignment_queries.assignment_key(row), storable_note(submission.note)
    counting = load_values(connection, key)
    changes = vote_changes({subject: value for subject, value in counting.items() if subject in requests}, values)
    same = row.state == "done" and not changes and note == row.note
    if same and row.alive_at is None:
        return "kept"
    if not same and submission.seen is not None and submission.seen.answers != hash_answers(counting, row.note):
        return "overtaken"
    times = assignment_queries.closing_values(row, now)
    event = record_event(
        connection, key, "submit", now, seconds=assignment_queries.visit_seconds(row, times),
        active=submission.active_seconds, detail={"note": note} if note else {},
    )  # fmt: skip
    questions = {subject: request.question for subject, request in requests.items()}
    record_votes(connection, key, event, changes, questions, channel="app", now=now)
    assignment_queries.delete_known_draft(connection, row, submission.seen)
    assignment_queries.update_assignment(connection, row, state="done", note=note, done_event=event, **times)
    if changes:
        update_task_disputes(connection, ref, task_id)
    return "kept"
