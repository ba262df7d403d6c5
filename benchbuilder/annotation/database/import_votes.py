"""Votes from other doors: checked like those of the app, and put into the same history, all or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database.models import Imported, ImportReport, Person
from benchbuilder.annotation.database.projects import Work, live_tasks
from benchbuilder.annotation.database.record_votes import (
    Place,
    ballot_of,
    cast,
    note_event,
    plausible,
    same,
    settle,
    values_of,
)
from benchbuilder.annotation.database.sanitise import short
from benchbuilder.annotation.database.schema import assignments, current
from benchbuilder.annotation.database.sync_tasks import review_states
from benchbuilder.annotation.database.users import everybody, tidy
from benchbuilder.annotation.tasks import Asked
from benchbuilder.annotation.values import allowed
from benchbuilder.core.errors import DataError

_MOST_SHOWN = 20


@dataclass
class Batch:
    """What one person says about one task."""

    person: Person
    task: Any
    values: dict[Subject, Value] = field(default_factory=dict[Subject, Value])
    first: dict[Subject, str] = field(default_factory=dict[Subject, str])
    notes: list[str] = field(default_factory=list[str])
    seconds: float | None = None
    said: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Sorting:
    """Votes by person and task, and what is wrong with them."""

    batches: dict[tuple[int, int], Batch] = field(default_factory=dict[tuple[int, int], Batch])
    problems: list[str] = field(default_factory=list[str])
    stale: int = 0
    twice: int = 0


def bring_in(
    connection: Connection, work: Work, imported: Iterable[Imported], door: str, now: datetime, *, strict: bool
) -> ImportReport:  # fmt: skip
    """Add votes; see `Ballots.bring_in`."""
    rows: dict[str, Any] = {}
    asked: dict[Subject, Asked] = {}
    for row, task in live_tasks(connection, work):
        rows[task.key] = row
        asked |= work.asked(task)
    sorting = _sort(connection, work, imported, rows, asked)
    held = _held(connection, work, sorting)
    if strict:
        _complain_of_changes(sorting, held)
    if sorting.problems:
        raise _refusal(sorting.problems)
    questions = {subject: what.question for subject, what in asked.items()}
    new = changed = 0
    touched: dict[int, Any] = {}
    # What annotators say comes first: decisions are about it.
    for pair, batch in sorted(sorting.batches.items(), key=lambda item: item[1].person.role == "adjudicator"):
        dropped = _not_counting(connection, batch)
        fresh = {s: v for s, v in batch.values.items() if s in dropped or not same(held[pair].get(s), v)}
        if _keep(connection, Place(work.id, batch.task.id, batch.person.id), batch, fresh, questions, door, now):
            touched[batch.task.id] = batch.task
        changed += sum(subject in held[pair] for subject in fresh)
        new += sum(subject not in held[pair] for subject in fresh)
    review_states(connection, work, touched.values())
    settle(connection, work, touched.values(), many=len(touched) > 1)
    total = sum(len(batch.values) for batch in sorting.batches.values()) + sorting.twice
    return ImportReport(new=new, changed=changed, same=total - new - changed, stale=sorting.stale)


def _not_counting(connection: Connection, batch: Batch) -> set[Subject]:
    """Decisions in `batch` that do not count any more, so that the same one is a new one."""
    if batch.person.role != "adjudicator":
        return set()
    return set(batch.values) - set(ballot_of(connection, current.c.task_id == batch.task.id).decisions)


def _refusal(problems: list[str]) -> DataError:
    left = len(problems) - _MOST_SHOWN
    lines = [*problems[:_MOST_SHOWN], *([f"... and {left} more"] if left > 0 else [])]
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return DataError(
        f"nothing was imported: {number}",
        why="\n".join(f"- {line}" for line in lines),
        next="correct them, and try again",
    )


def _sort(
    connection: Connection, work: Work, imported: Iterable[Imported], rows: Mapping[str, Any],
    asked: Mapping[Subject, Asked],
) -> Sorting:  # fmt: skip
    people = {person.name: person for person in everybody(connection)}
    questions = work.spec.asked()
    sorting = Sorting()
    for vote in imported:
        at = f"{vote.where}: " if vote.where else ""
        person, what = people.get(tidy(vote.person)), asked.get(vote.subject)
        if person is None:
            sorting.problems.append(f"{at}nobody called {vote.person!r} is invited")
        elif person.role != vote.role or vote.role == "lead":
            sorting.problems.append(f"{at}{person.name} is {person.role}, and this is what an {vote.role} says")
        elif what is None:
            sorting.stale += 1
        elif not allowed(questions[what.question], vote.value):
            sorting.problems.append(f"{at}{vote.value!r} is no answer to {what.question}")
        else:
            batch = sorting.batches.setdefault(
                (person.id, rows[what.claim].id), Batch(person, rows[what.claim])
            )  # fmt: skip
            _collect(sorting, batch, vote, at)
    return sorting


def _collect(sorting: Sorting, batch: Batch, vote: Imported, at: str) -> None:
    value = annotator_queries.cleaned({vote.subject: vote.value})[vote.subject]
    if vote.subject not in batch.values:
        batch.values[vote.subject] = value
        batch.first[vote.subject] = vote.where
    elif same(batch.values[vote.subject], value):
        sorting.twice += 1
    else:
        other = f" (see {batch.first[vote.subject]})" if batch.first[vote.subject] else ""
        sorting.problems.append(f"{at}{vote.person} says both {batch.values[vote.subject]!r} and {value!r}{other}")
    note = short(vote.note)
    if note and note not in batch.notes:
        batch.notes.append(note)
    if plausible(vote.seconds) is not None:
        batch.seconds = max(batch.seconds or 0.0, vote.seconds or 0.0)
    said: dict[str, Any] = {
        "reason": short(vote.reason), "confidence": short(vote.confidence), "guideline_gap": vote.guideline_gap,
        "error_kinds": [short(kind) for kind in vote.error_kinds],
    }  # fmt: skip
    batch.said |= {name: told for name, told in said.items() if told}


def _held(connection: Connection, work: Work, sorting: Sorting) -> dict[tuple[int, int], dict[Subject, Value]]:
    return {
        pair: values_of(connection, Place(work.id, batch.task.id, batch.person.id))
        for pair, batch in sorting.batches.items()
    }


def _complain_of_changes(sorting: Sorting, held: Mapping[Any, Mapping[Subject, Value]]) -> None:
    for pair, batch in sorting.batches.items():
        for subject, value in batch.values.items():
            old = held[pair].get(subject)
            if old is not None and not same(old, value):
                at = f"{batch.first[subject]}: " if batch.first[subject] else ""
                sorting.problems.append(f"{at}{batch.person.name} said {old!r} before, and now {value!r}")


def _keep(
    connection: Connection, place: Place, batch: Batch, fresh: Mapping[Subject, Value],
    questions: Mapping[Subject, str], door: str, now: datetime,
) -> bool:  # fmt: skip
    """Add what is new in `batch`; whether there was anything."""
    query = select(assignments).where(
        assignments.c.task_id == place.task_id, assignments.c.person_id == place.person_id
    )
    row = connection.execute(query).first()
    note = short("\n".join(batch.notes))
    if not fresh and (not note or (row is not None and note == row.note)):
        return False
    detail = {"door": door, **batch.said, **({"note": note} if note else {})}
    event = note_event(connection, place, "import", now, seconds=batch.seconds, detail=detail)
    cast(connection, place, event, fresh, questions, door=door, now=now)
    if row is None:
        connection.execute(
            insert(assignments).values(**place._asdict(), live=True, state="open", flagged=False, note="")
        )
        row = connection.execute(query).one()
    values: dict[str, Any] = {"opened_at": row.opened_at or now, "note": note or row.note}
    if batch.seconds is not None and not row.seconds:
        values["seconds"] = batch.seconds
    if batch.person.role == "adjudicator":
        values |= {"state": "done", "done_event": event}
    elif fresh:
        values |= {"done_event": None}  # Undo takes back what they submitted, and that is not what counts now.
    connection.execute(update(assignments).where(assignments.c.id == row.id).values(values))
    return True
