"""Imports votes from other tools: checks them like votes of the app, and adds all of them to the history or none."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database import assignments as assignment_queries
from benchbuilder.annotation.database.models import ImportedVote, ImportReport, Person
from benchbuilder.annotation.database.projects import ProjectRef, live_tasks
from benchbuilder.annotation.database.record_votes import (
    AssignmentKey,
    load_values_of,
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
from benchbuilder.annotation.recheck import VOTERS, is_barred
from benchbuilder.annotation.subject_index import SubjectIndex
from benchbuilder.annotation.values import is_allowed_value
from benchbuilder.core import raise_row_errors

_BATCHES_AT_ONCE = 500


@dataclass
class VoteBatch:
    """The imported votes of one person on one task."""

    person: Person
    task_id: int
    values: dict[Subject, Value] = field(default_factory=dict[Subject, Value])
    locations: dict[Subject, str] = field(default_factory=dict[Subject, str])
    notes: list[str] = field(default_factory=list[str])
    seconds: float | None = None
    adjudicator_details: dict[str, Any] = field(default_factory=dict[str, Any])
    duplicates: int = 0

    def add(self, vote: ImportedVote) -> str:
        """Add a vote; a contradiction to an earlier one is left out, and described."""
        value = annotator_queries.sanitise_values({vote.subject: vote.value})[vote.subject]
        problem = ""
        if vote.subject not in self.values:
            self.values[vote.subject] = value
            self.locations[vote.subject] = vote.where
        elif same_value(self.values[vote.subject], value):
            self.duplicates += 1
        else:
            hint = f" (see {self.locations[vote.subject]})" if self.locations[vote.subject] else ""
            problem = f"{_start(vote.where)}{vote.person} says both {self.values[vote.subject]!r} and {value!r}{hint}"
        note = storable_note(vote.note)
        if note and note not in self.notes:
            self.notes.append(note)
        if plausible_seconds(vote.seconds) is not None:
            self.seconds = max(self.seconds or 0.0, vote.seconds or 0.0)
        self.adjudicator_details |= storable_details(vote)
        return problem

    def changes(self, current: Mapping[Subject, Value]) -> Iterator[str]:
        """Describe the values that differ from those that count."""
        for subject, value in self.values.items():
            old = current.get(subject)
            if old is not None and not same_value(old, value):
                yield f"{_start(self.locations[subject])}{self.person.name} gave {old!r} before, and now {value!r}"


class AskedTasks:
    """The tasks that a project asks about: their ids and what is asked, without their texts."""

    def __init__(self, connection: Connection, project: ProjectRef) -> None:
        self.ids: list[int] = []
        self._about: dict[int, str] = {}
        self.subjects = SubjectIndex(self._read(connection, project), project.spec)

    def _read(self, connection: Connection, project: ProjectRef) -> Iterator[Task]:
        for row, task in live_tasks(connection, project):
            if VOTERS in row.about:
                self._about[len(self.ids)] = row.about
            self.ids.append(row.id)
            yield task

    def is_barred(self, number: int, person: Person) -> bool:
        """Whether `person` voted before on the item of a task."""
        return number in self._about and is_barred(load_json(self._about[number]), person.code, person.name)


class SortedVotes:
    """Imported votes by person and task, in the order of the first vote of each such batch, and the problems found.

    It holds numbers of votes, not votes.
    """

    def __init__(self, imported: Sequence[ImportedVote]) -> None:
        self.problems: list[tuple[int, str]] = []
        self.stale = 0
        self._imported = imported
        self._numbers: dict[tuple[int, int], int] = {}
        self._people: dict[int, Person] = {}
        self._batch_of = array("i")

    def add(self, person: Person, task_id: int) -> None:
        """Put the next vote into the batch of a person and a task."""
        self._people[person.id] = person
        self._batch_of.append(self._numbers.setdefault((person.id, task_id), len(self._numbers)))

    def leave_out(self, problem: str = "") -> None:
        """Leave out the next vote, which has a problem or is about something that is not asked now."""
        if problem:
            self.problems.append((len(self._batch_of), problem))
        else:
            self.stale += 1
        self._batch_of.append(-1)

    def groups(self, *, adjudicators_last: bool) -> Iterator[list[VoteBatch]]:
        """All batches, some at a time. Contradictions are added to the problems."""
        batch_of: NDArray[np.int32] = np.frombuffer(self._batch_of, np.int32)
        order = np.argsort(batch_of, kind="stable")
        edges = np.searchsorted(batch_of[order], np.arange(len(self._numbers) + 1))
        pairs = list(self._numbers)
        numbers: Sequence[int] = range(len(pairs))
        if adjudicators_last:
            numbers = sorted(numbers, key=lambda number: self._people[pairs[number][0]].role == "adjudicator")
        for start in range(0, len(numbers), _BATCHES_AT_ONCE):
            yield [
                self._batch(pairs[number], order[edges[number] : edges[number + 1]].tolist())
                for number in numbers[start : start + _BATCHES_AT_ONCE]
            ]

    def _batch(self, pair: tuple[int, int], places: Sequence[int]) -> VoteBatch:
        batch = VoteBatch(self._people[pair[0]], pair[1])
        for place in places:
            if problem := batch.add(self._imported[place]):
                self.problems.append((place, problem))
        return batch


def import_votes(
    connection: Connection, project: ProjectRef, imported: Sequence[ImportedVote], channel: str, now: datetime, *,
    strict: bool
) -> ImportReport:  # fmt: skip
    """Add votes; see `AnnotationStore.import_votes`."""
    tasks = AskedTasks(connection, project)
    sorting = _sort_votes(connection, project, imported, tasks)
    _report_problems(connection, sorting, strict=strict)
    new = changed = total = 0
    touched: dict[int, None] = {}
    # Votes of annotators first: decisions are about them.
    for batches in sorting.groups(adjudicators_last=True):
        current = load_values_of(connection, [batch.task_id for batch in batches])
        for batch in batches:
            assignment = AssignmentKey(project.id, batch.task_id, batch.person.id)
            counting = current.get((batch.task_id, batch.person.id), {})
            dropped = _outdated_subjects(connection, batch)
            fresh = {s: v for s, v in batch.values.items() if s in dropped or not same_value(counting.get(s), v)}
            questions = {subject: name for subject in fresh if (name := tasks.subjects.question(subject))}
            if _write_batch(connection, assignment, batch, fresh, questions, channel, now):
                touched[batch.task_id] = None
            changed += sum(subject in counting for subject in fresh)
            new += sum(subject not in counting for subject in fresh)
            total += len(batch.values) + batch.duplicates
    update_done_states(connection, project, touched)
    update_disputes(connection, project, touched)
    return ImportReport(new=new, changed=changed, same=total - new - changed, stale=sorting.stale)


def _report_problems(connection: Connection, sorting: SortedVotes, *, strict: bool) -> None:
    """DataError if votes cannot be added; it lists the problems in the order of the votes."""
    changes: list[str] = []
    for batches in sorting.groups(adjudicators_last=False):
        current = load_values_of(connection, [batch.task_id for batch in batches]) if strict else {}
        for batch in batches:
            changes += batch.changes(current.get((batch.task_id, batch.person.id), {}))
    problems = [problem for _, problem in sorted(sorting.problems, key=itemgetter(0))]
    raise_row_errors([*problems, *changes], "nothing was imported", "correct the votes, and try again")


def _outdated_subjects(connection: Connection, batch: VoteBatch) -> set[Subject]:
    """Decisions in `batch` that no longer count: the same decision is then a new one."""
    if batch.person.role != "adjudicator":
        return set()
    return set(batch.values) - set(load_votes(connection, current_votes.c.task_id == batch.task_id).decisions)


def _sort_votes(
    connection: Connection, project: ProjectRef, imported: Sequence[ImportedVote], tasks: AskedTasks
) -> SortedVotes:
    people = {person.name: person for person in list_people(connection)}
    questions = project.spec.questions_about()
    sorting = SortedVotes(imported)
    for vote in imported:
        person, name = people.get(normalise_name(vote.person)), tasks.subjects.question(vote.subject)
        number = tasks.subjects.task_number(vote.subject.key)
        if person is None:
            sorting.leave_out(f"{_start(vote.where)}nobody called {vote.person!r} is invited")
        elif person.role != vote.role or vote.role == "lead":
            sorting.leave_out(
                f"{_start(vote.where)}{person.name} is {person.role}, but this vote is from an {vote.role}"
            )
        elif name is None or number is None:
            sorting.leave_out()
        elif tasks.is_barred(number, person):
            sorting.leave_out(f"{_start(vote.where)}{person.name} voted on this item before: others must check it")
        elif not is_allowed_value(questions[name], vote.value):
            sorting.leave_out(f"{_start(vote.where)}{vote.value!r} is not an answer to {name}")
        else:
            sorting.add(person, tasks.ids[number])
    return sorting


def _start(where: str) -> str:
    """The start of a message about a vote at `where`."""
    return f"{where}: " if where else ""


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
