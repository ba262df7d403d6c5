"""Converts projects and tasks to rows of the database and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from benchbuilder.annotation.base import ShownParagraph, Subject, Task
from benchbuilder.annotation.database.models import Project, QuestionWording
from benchbuilder.annotation.database.sanitise import dump_json, load_json
from benchbuilder.annotation.database.schema import projects, tasks, wordings
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests, wording_key
from benchbuilder.config import ProjectSpec
from benchbuilder.core import DataError

_READ_AT_ONCE = 1000


@dataclass(frozen=True)
class ProjectRef:
    """The parts of a project that are needed to record votes on its tasks."""

    id: int
    name: str
    seed: int
    spec: ProjectSpec

    def judgement_requests(self, *shown: Task) -> dict[Subject, JudgementRequest]:
        """Every judgement that is requested about the tasks `shown`."""
        return judgement_requests(shown, self.spec)


def spec_text(spec: ProjectSpec) -> str:
    """`spec` as JSON, without keys that only some kinds of projects have."""
    data = spec.model_dump(mode="json", by_alias=True)
    return dump_json({name: value for name, value in data.items() if name in ProjectSpec.model_fields})


@lru_cache(maxsize=64)
def _spec(text: str) -> ProjectSpec:
    return ProjectSpec.model_validate(load_json(text))


_WORK = select(projects.c.id, projects.c.name, projects.c.seed, projects.c.spec)
_BY_NAME = _WORK.where(projects.c.name == bindparam("project"))
_BY_ID = _WORK.where(projects.c.id == bindparam("project"))


def find_project_ref(connection: Connection, project: str | int) -> ProjectRef | None:
    """The project with that name or id."""
    query = _BY_NAME if isinstance(project, str) else _BY_ID
    row = connection.execute(query, {"project": project}).first()
    return None if row is None else ProjectRef(row.id, row.name, row.seed, _spec(row.spec))


def find_projects(connection: Connection, name: str = "") -> list[Project]:
    """All live projects ordered by name, or only the one called `name`, live or retired."""
    query = select(projects).order_by(projects.c.name)
    rows = connection.execute(query.where(projects.c.name == name if name else projects.c.live))
    return [Project(row.name, _spec(row.spec), row.guideline, row.language, row.seed, row.benchmark) for row in rows]


def _check_benchmark(connection: Connection, project: Project) -> None:
    """DataError if the database holds the votes of another benchmark."""
    query = select(projects.c.benchmark).where(projects.c.benchmark.not_in(["", project.benchmark]))
    benchmark = connection.execute(query.limit(1)).scalar()
    if project.benchmark and benchmark is not None:
        raise DataError(
            f"this database holds the votes of {benchmark}",
            why=f"the benchmark {project.benchmark} would retire the tasks of its annotators",
            next="give each benchmark a database of its own",
        )


def save_project(connection: Connection, project: Project, now: datetime) -> tuple[ProjectRef, bool]:
    """Save `project` and all its wordings so far; also return whether its spec has changed."""
    values = {"spec": spec_text(project.spec), "guideline": project.guideline, "language": project.language}
    values |= {"seed": project.seed, "live": True}
    _check_benchmark(connection, project)
    values |= {"benchmark": project.benchmark} if project.benchmark else {}
    old = connection.execute(select(projects).where(projects.c.name == project.name)).mappings().first()
    if old is None:
        connection.execute(insert(projects).values(name=project.name, **values))
    elif any(old[name] != value for name, value in values.items()):
        connection.execute(update(projects).where(projects.c.id == old["id"]).values(values))
    ref = find_project_ref(connection, project.name)
    if ref is None:
        raise AssertionError("the project was just saved")
    _save_wordings(connection, ref, now)
    return ref, old is None or old["spec"] != values["spec"]


def _save_wordings(connection: Connection, project: ProjectRef, now: datetime) -> None:
    query = select(wordings.c.wording, wordings.c.question).where(wordings.c.project_id == project.id)
    saved = {(row.wording, row.question) for row in connection.execute(query)}
    for name, question in project.spec.questions_about().items():
        wording = wording_key(question)
        if (wording, name) not in saved:
            row = {"project_id": project.id, "wording": wording, "question": name, "since": now}
            connection.execute(insert(wordings).values(**row, definition=dump_json(question.model_dump(mode="json"))))


def find_wordings(connection: Connection, project: ProjectRef) -> list[QuestionWording]:
    """Every wording that was ever used, oldest first."""
    query = select(wordings).where(wordings.c.project_id == project.id)
    rows = connection.execute(query.order_by(wordings.c.since, wordings.c.question, wordings.c.wording))
    return [QuestionWording(row.wording, row.question, load_json(row.definition), row.since) for row in rows]


def task_row_values(task: Task) -> dict[str, Any]:
    """The values of the row of `task`."""
    paragraphs = [[p.key, p.base, p.title, p.text] for p in task.paragraphs]
    return {
        "key": task.key,
        "shown": dump_json({"fields": task.fields, "paragraphs": paragraphs}),
        "about": dump_json(task.about),
        "expected": dump_json(task.expected),
        "gold": bool(task.expected),
    }


def task_from_row(row: Any) -> Task:
    """The task of a row of `tasks`."""
    return Task(
        row.key,
        *_parse_shown(row.shown),
        about=tuple((name, text) for name, text in load_json(row.about)),
        expected=tuple((name, value) for name, value in load_json(row.expected)),
    )


def blind_task_from_row(row: Any) -> Task:
    """The task of a row without its metadata and its expected answers, which annotators must not see."""
    return Task(row.key, *_parse_shown(row.shown))


def _parse_shown(text: str) -> tuple[tuple[tuple[str, str], ...], tuple[ShownParagraph, ...]]:
    shown = load_json(text)
    fields = tuple((name, text) for name, text in shown["fields"])
    return fields, tuple(ShownParagraph(*paragraph) for paragraph in shown["paragraphs"])


def live_tasks(
    connection: Connection, project: ProjectRef, *, include_retired: bool = False
) -> Iterator[tuple[Any, Task]]:
    """Rows and tasks in their order; with `include_retired`, also tasks that are no longer asked."""
    query = select(tasks).where(tasks.c.project_id == project.id).order_by(tasks.c.ordinal, tasks.c.id)
    query = query.execution_options(yield_per=_READ_AT_ONCE)
    for row in connection.execute(query if include_retired else query.where(tasks.c.live)):
        yield row, task_from_row(row)
