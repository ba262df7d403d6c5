"""Imports votes from other tools: checks them like votes of the app, and adds all of them to the history or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database.models import ImportedVote, ImportReport, Person
from benchbuilder.annotation.database.projects import ProjectRef, live_tasks
from benchbuilder.annotation.database.record_votes import (
    AssignmentKey,
    load_values,
    load_votes,
    plausible_seconds,
    record_event,
    record_votes,
    same_value,
    update_disputes,
)
from benchbuilder.annotation.database.sanitise import load_json, storable_details, storable_note
from benchbuilder.annotation.database.schema import assignments, current_votes
from benchbuilder.annotation.database.sync_tasks import update_done_states
from benchbuilder.annotation.database.users import list_people, normalise_name
from benchbuilder.annotation.recheck import is_barred
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.annotation.values import is_allowed_value
from benchbuilder.core import raise_row_errors


@dataclass
class VoteBatch:
    """The imported votes of one person on one task."""

    person: Person
    task: Any
    values: dict[Subject, Value] = field(default_factory=dict[Subject, Value])
    locations: dict[Subject, str] = field(default_factory=dict[Subject, str])
    notes: list[str] = field(default_factory=list[str])
    seconds: float | None = None
    adjudicator_details: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class SortedVotes:
    """Imported votes by person and task, and the problems found."""

    batches: dict[tuple[int, int], VoteBatch] = field(default_factory=dict[tuple[int, int], VoteBatch])
    problems: list[str] = field(default_factory=list[str])
    stale: int = 0
    duplicates: int = 0


def import_votes(
    connection: Connection, project: ProjectRef, imported: Iterable[ImportedVote], channel: str, now: datetime, *,
    strict: bool
) -> ImportReport:  # fmt: skip
    """Add votes; see `AnnotationStore.import_votes`."""
    rows: dict[str, Any] = {}
    requests: dict[Subject, JudgementRequest] = {}
    for row, task in live_tasks(connection, project):
        rows[task.key] = row
        requests |= project.judgement_requests(task)
    sorting = _sort_votes(connection, project, imported, rows, requests)
    current = {
        pair: load_values(connection, AssignmentKey(project.id, batch.task.id, batch.person.id))
        for pair, batch in sorting.batches.items()
    }
    if strict:
        _report_changes(sorting, current)
    raise_row_errors(sorting.problems, "nothing was imported", "correct the votes, and try again")
    questions = {subject: request.question for subject, request in requests.items()}
    new = changed = 0
    touched: dict[int, Any] = {}
    # Votes of annotators first: decisions are about them.
    for pair, batch in sorted(sorting.batches.items(), key=lambda item: item[1].person.role == "adjudicator"):
        dropped = _outdated_subjects(connection, batch)
        fresh = {s: v for s, v in batch.values.items() if s in dropped or not same_value(current[pair].get(s), v)}
        if _write_batch(
            connection, AssignmentKey(project.id, batch.task.id, batch.person.id), batch, fresh, questions, channel, now
        ):
            touched[batch.task.id] = batch.task
        changed += sum(subject in current[pair] for subject in fresh)
        new += sum(subject not in current[pair] for subject in fresh)
    update_done_states(connection, project, touched.values())
    update_disputes(connection, project, touched.values(), read_all=len(touched) > 1)
    total = sum(len(batch.values) for batch in sorting.batches.values()) + sorting.duplicates
    return ImportReport(new=new, changed=changed, same=total - new - changed, stale=sorting.stale)


def _outdated_subjects(connection: Connection, batch: VoteBatch) -> set[Subject]:
    """Decisions in `batch` that no longer count: the same decision is then a new one."""
    if batch.person.role != "adjudicator":
        return set()
    return set(batch.values) - set(load_votes(connection, current_votes.c.task_id == batch.task.id).decisions)


def _sort_votes(
    connection: Connection, project: ProjectRef, imported: Iterable[ImportedVote], rows: Mapping[str, Any],
    requests: Mapping[Subject, JudgementRequest],
) -> SortedVotes:  # fmt: skip
    people = {person.name: person for person in list_people(connection)}
    questions = project.spec.questions_about()
    sorting = SortedVotes()
    for vote in imported:
        location = f"{vote.where}: " if vote.where else ""
        person, request = people.get(normalise_name(vote.person)), requests.get(vote.subject)
        if person is None:
            sorting.problems.append(f"{location}nobody called {vote.person!r} is invited")
        elif person.role != vote.role or vote.role == "lead":
            sorting.problems.append(f"{location}{person.name} is {person.role}, but this vote is from an {vote.role}")
        elif request is None:
            sorting.stale += 1
        elif is_barred(load_json(rows[request.task_key].about), person.code, person.name):
            sorting.problems.append(f"{location}{person.name} voted on this item before: others must check it")
        elif not is_allowed_value(questions[request.question], vote.value):
            sorting.problems.append(f"{location}{vote.value!r} is not an answer to {request.question}")
        else:
            batch = sorting.batches.setdefault(
                (person.id, rows[request.task_key].id), VoteBatch(person, rows[request.task_key])
            )  # fmt: skip
            _add_to_batch(sorting, batch, vote, location)
    return sorting


def _add_to_batch(votes: SortedVotes, batch: VoteBatch, vote: ImportedVote, location: str) -> None:
    value = annotator_queries.sanitise_values({vote.subject: vote.value})[vote.subject]
    if vote.subject not in batch.values:
        batch.values[vote.subject] = value
        batch.locations[vote.subject] = vote.where
    elif same_value(batch.values[vote.subject], value):
        votes.duplicates += 1
    else:
        hint = f" (see {batch.locations[vote.subject]})" if batch.locations[vote.subject] else ""
        votes.problems.append(f"{location}{vote.person} says both {batch.values[vote.subject]!r} and {value!r}{hint}")
    note = storable_note(vote.note)
    if note and note not in batch.notes:
        batch.notes.append(note)
    if plausible_seconds(vote.seconds) is not None:
        batch.seconds = max(batch.seconds or 0.0, vote.seconds or 0.0)
    batch.adjudicator_details |= storable_details(vote)


def _report_changes(votes: SortedVotes, current: Mapping[Any, Mapping[Subject, Value]]) -> None:
    for pair, batch in votes.batches.items():
        for subject, value in batch.values.items():
            old = current[pair].get(subject)
            if old is not None and not same_value(old, value):
                location = f"{batch.locations[subject]}: " if batch.locations[subject] else ""
                votes.problems.append(f"{location}{batch.person.name} gave {old!r} before, and now {value!r}")


def _write_batch(
    connection: Connection, assignment: AssignmentKey, batch: VoteBatch, new_values: Mapping[Subject, Value],
    questions: Mapping[Subject, str], channel: str, now: datetime,
) -> bool:  # fmt: skip
    """Add the new votes and notes of `batch`; return whether there were any."""
    query = select(assignments).where(
        assignments.c.task_id == assignment.task_id, assignments.c.person_id == assignment.person_id
    )
    row = connection.execute(query).first()
    note = storable_note("\n".join(batch.notes))
    if not new_values and (not note or (row is not None and note == row.note)):
        return False
    detail = {"channel": channel, **batch.adjudicator_details, **({"note": note} if note else {})}
    event = record_event(connection, assignment, "import", now, seconds=batch.seconds, detail=detail)
    record_votes(connection, assignment, event, new_values, questions, channel=channel, now=now)
    if row is None:
        assignment_queries.insert_assignment(connection, assignment)
        row = connection.execute(query).one()
    values: dict[str, Any] = {"opened_at": row.opened_at or now, "note": note or row.note}
    if batch.seconds is not None and not row.seconds:
        values["seconds"] = batch.seconds
    if batch.person.role == "adjudicator":
        values |= {"state": "done", "done_event": event}
    elif new_values:
        values |= {"done_event": None}  # The submission no longer counts, so undo must not withdraw it.
    assignment_queries.update_assignment(connection, row, **values)
    return True
