"""Databases of votes for tests of the running app, and what must hold of them whatever happened."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, create_engine, select
from sqlalchemy.engine import make_url

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.app.forms import TaskForm, make_task_form
from benchbuilder.annotation.base import ShownParagraph, Task
from benchbuilder.annotation.database.models import Person, Project
from benchbuilder.annotation.database.schema import assignments, current_votes, drafts, events, people, tasks, votes
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.tasks import judgement_requests, paragraph_key, task_key
from benchbuilder.config.spec.annotation import ProjectSpec

PROJECT = "trials"
PARAGRAPH = "妊娠期高血压的血压升高首次出现于妊娠20周以后，不伴蛋白尿和器官损害，产后逐渐恢复正常。"


def spec(**changes: Any) -> ProjectSpec:
    """A project that asks questions of every type but a scale."""
    claim = {"subject": "claim"}
    data: dict[str, Any] = {
        "kind": "review", "title": "Trials", "per_task": 2, "heading": "Question", "paragraph": "Paragraph",
        "bootstrap": {"samples": 100, "level": 0.95, "seed": 1}, "suggested_seconds": 300,
        "fields": {"question": "Question", "answer": "Answer"},
        "questions": {
            "sound": {**claim, "order": 1, "label": "Sound", "text": "Is the question sound?"},
            "supports": {"subject": "evidence", "order": 2, "label": "Support", "text": "Does it support the answer?"},
            "grade": {**claim, "order": 3, "label": "Grade", "text": "How right is it?", "answer": "scalar"},
            "why": {**claim, "order": 4, "label": "Why", "text": "Why?", "answer": "text", "required": False},
        },
    }  # fmt: skip
    return ProjectSpec.model_validate(data | changes)


def task(number: int, paragraphs: int = 1, *, about: str = "", expected: Sequence[tuple[str, Any]] = ()) -> Task:
    """A task that no other number has."""
    fields = (("question", f"妊娠期高血压的血压升高首次出现于什么时候？（{number}）"), ("answer", "妊娠20周以后"))
    key = task_key(fields)
    texts = [f"{PARAGRAPH}（{place}）" for place in range(1, paragraphs + 1)]
    shown = tuple(ShownParagraph(paragraph_key(key, text), "textbook", "", text) for text in texts)
    return Task(key, fields, shown, (("model", about),) if about else (), tuple(expected))


@dataclass(frozen=True)
class Annotator:
    """A person, the token of their link, and by number the forms of their tasks, their ids and their keys."""

    person: Person
    token: str
    sheets: dict[int, TaskForm]
    task_ids: dict[int, int]
    keys: dict[int, str]


def lay_out(url: str, count: int, annotators: int, **changes: Any) -> list[Annotator]:
    """A database with the project `PROJECT` of `count` tasks, and its annotators."""
    work, made = spec(**changes), [task(number) for number in range(count)]
    with AnnotationStore.open(url) as store:
        invited = [store.invite(f"annotator {number}", "annotator") for number in range(1, annotators + 1)]
        store.sync_project(Project(PROJECT, work, "Read *carefully*.", "zh", 7), made)
    sheets = {each.key: make_task_form(each, work) for each in made}
    columns = (assignments.c.person_id, assignments.c.place, tasks.c.key, tasks.c.id)
    with connected(url) as connection:
        rows = connection.execute(select(*columns).join(tasks, tasks.c.id == assignments.c.task_id)).all()
    return [
        Annotator(
            person, token,
            {row.place: sheets[row.key] for row in rows if row.person_id == person.id},
            {row.place: row.id for row in rows if row.person_id == person.id},
            {row.place: row.key for row in rows if row.person_id == person.id},
        )
        for person, token in invited
    ]  # fmt: skip


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection to the database of the app that is not the app's."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(drivername="postgresql+pg8000")
    engine = create_engine(parsed)
    try:
        with engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


def effective(connection: Connection) -> dict[tuple[int, int, str, str], Any]:
    """The votes that count, by id of the task, id of the person, and subject."""
    rows = connection.execute(select(current_votes))
    return {(row.task_id, row.person_id, row.key, row.wording): json.loads(row.value) for row in rows}


def saved_drafts(connection: Connection) -> dict[tuple[int, int], dict[str, str]]:
    """The drafts by id of the task and of the person."""
    query = select(assignments.c.task_id, assignments.c.person_id, drafts.c.data)
    rows = connection.execute(query.join(drafts, drafts.c.assignment_id == assignments.c.id))
    return {(row.task_id, row.person_id): json.loads(row.data) for row in rows}


def submits(connection: Connection) -> list[tuple[int, int]]:
    """Id of the task and of the person of every submit."""
    query = select(events.c.task_id, events.c.person_id).where(events.c.kind == "submit").order_by(events.c.id)
    return [(row.task_id, row.person_id) for row in connection.execute(query)]


def check_consistent(url: str) -> None:
    """Assert that what counts is what the history says, and that disputes are those that follow from it."""
    with connected(url) as connection:
        _check_replay(connection)
        _check_assignments(connection)
    with AnnotationStore.open(url) as store:
        roles = {(person.code, person.role) for person in store.people()}
        assert {
            (vote.code, vote.role) for project in store.projects() for vote in store.vote_events(project.name)
        } <= roles
        with connected(url) as connection:
            for project in store.projects():
                _check_disputes(connection, store, project)


def _check_replay(connection: Connection) -> None:
    replayed: dict[tuple[int, int, str, str], tuple[int, str]] = {}
    for row in connection.execute(select(votes).order_by(votes.c.id)):
        subject = (row.task_id, row.person_id, row.key, row.wording)
        last = replayed.pop(subject, None)
        assert row.value != (last and last[1]), "a vote that changes nothing"
        if row.value is not None:
            replayed[subject] = (row.id, row.value)
    rows = connection.execute(select(current_votes)).all()
    counted = {(r.task_id, r.person_id, r.key, r.wording): (r.vote_id, r.value) for r in rows}
    assert counted == replayed
    of_event = select(votes.c.id).join(events, events.c.id == votes.c.event_id).where(
        (votes.c.task_id != events.c.task_id) | (votes.c.person_id != events.c.person_id)
        | events.c.kind.not_in(["submit", "undo", "import"])
    )  # fmt: skip
    assert connection.execute(of_event).all() == []


def _check_assignments(connection: Connection) -> None:
    last: dict[tuple[int, int], int | None] = {}
    for row in connection.execute(select(events).where(events.c.kind.in_(["submit", "undo"])).order_by(events.c.id)):
        last[row.task_id, row.person_id] = row.id if row.kind == "submit" else None
    for row in connection.execute(select(assignments)):
        submitted = last.get((row.task_id, row.person_id))
        assert row.done_event == submitted
        assert (row.state == "done") == (submitted is not None)
        assert row.seconds >= 0
        assert row.spent >= 0
    numbered = select(assignments.c.person_id, assignments.c.project_id, assignments.c.place)
    join = people.c.id == assignments.c.person_id
    places = connection.execute(
        numbered.join(people, join).where(people.c.role == "annotator", assignments.c.live)
    ).all()
    assert len(set(places)) == len(places)


def _check_disputes(connection: Connection, store: AnnotationStore, project: Project) -> None:
    ballot = store.current_votes(project.name)
    known = {row.id: row.open_disputes for row in connection.execute(select(tasks.c.id, tasks.c.open_disputes))}
    for id_, each in store.tasks(project.name):
        waiting = (
            []
            if each.expected
            else aggregate_votes(judgement_requests([each], project.spec), ballot, project.spec).disputed_subjects
        )
        assert known[id_] == len(waiting), f"{project.name} task {id_}"
