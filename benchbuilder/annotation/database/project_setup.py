"""Opens the database of a build, and makes its projects and tasks from a recipe: guideline and gold tasks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchbuilder.annotation.base import ShownParagraph, Task, Value
from benchbuilder.annotation.database.models import Project
from benchbuilder.annotation.tasks import paragraph_key, task_key
from benchbuilder.annotation.values import is_allowed_value
from benchbuilder.config import FileRef, ProjectSpec
from benchbuilder.core import DataError, imports_of, parse_json, raise_row_errors, read_given_text

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore


CLAIMS_PROJECT = "claims"
"""The project of the candidates of a benchmark."""
DATABASE_FILE = "review.sqlite"


def database_url(database_env: str | None, workplace: Path, environ: Mapping[str, str] | None = None) -> str:
    """The URL of the database: a file in `workplace`, or the value of the environment variable `database_env`.

    The URL may contain a password, so no message shows it.

    Raises:
        DataError: the environment variable is not set.
    """
    if database_env is None:
        return f"sqlite:///{workplace.absolute() / DATABASE_FILE}"
    url = (os.environ if environ is None else environ).get(database_env, "")
    if not url:
        raise DataError(
            f"the environment variable {database_env} is not set",
            why="database_env names it for the URL of the shared database of votes",
            next=f"export {database_env}=postgresql://USER@HOST/DATABASE, or leave database_env out",
        )
    return url


def make_project(name: str, spec: ProjectSpec, language: str, seed: int, benchmark: str) -> Project:
    """The project of `benchmark` that `spec` describes; DataError if its guideline cannot be read."""
    return Project(name, spec, "" if spec.guideline is None else _read_text(spec.guideline), language, seed, benchmark)


def _read_text(ref: FileRef) -> str:
    try:
        return read_given_text(ref.file)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{ref.path} cannot be read", where=str(ref.file), why=str(error), next="it must be a text in UTF-8"
        ) from error


def make_task(
    fields: Sequence[tuple[str, str]],
    paragraphs: Sequence[tuple[str, str, str]] = (),
    *,
    metadata: Sequence[tuple[str, str]] = (),
    expected: Mapping[str, Value] | None = None,
) -> Task:
    """Make a task that shows `fields` (name, text) and `paragraphs` (base, title, text), identical ones once."""
    key = task_key(fields)
    shown: dict[str, ShownParagraph] = {}
    for base, title, text in paragraphs:
        name = paragraph_key(key, text)
        shown.setdefault(name, ShownParagraph(name, base, title, text))
    return Task(key, tuple(fields), tuple(shown.values()), tuple(metadata), tuple(sorted((expected or {}).items())))


def add_gold_tasks(tasks: Sequence[Task], spec: ProjectSpec) -> list[Task]:
    """`tasks` and the gold tasks of the recipe.

    Raises:
        DataError: lines of the file cannot be used; it lists them. A gold task must not be one of `tasks`, as its
            votes cannot both decide and test, and must have the shape of them, as nobody may recognise it.
    """
    if spec.gold is None:
        return list(tasks)
    task_keys = {task.key for task in tasks}
    gold_tasks: dict[str, Task] = {}
    shape = TaskShape(tasks)
    problems: list[str] = []
    for number, line in enumerate(_read_text(spec.gold.file).split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{spec.gold.file.path}:{number}"
        try:
            task = shape.fit(_parse_gold_task(parse_json(line), spec))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            problems.append(f"{where}: {error}")
            continue
        if task.key in task_keys:
            problems.append(f"{where}: this task is asked anyway; use another one")
        gold_tasks[task.key] = task
    raise_row_errors(
        problems,
        "gold tasks cannot be used",
        'a line is {"fields": {"text": "..."}, "expected": {"QUESTION": ANSWER}}, and maybe "paragraphs"',
    )
    return [*tasks, *gold_tasks.values()]


def _parse_gold_task(raw: dict[str, Any], spec: ProjectSpec) -> Task:
    """Parse a gold task; ValueError says what is wrong with it."""
    names = list(spec.display_fields())
    fields: dict[str, Any] = raw["fields"]
    if wrong := sorted(set(fields) ^ set(names)):
        raise ValueError(f"fields: {', '.join(wrong)}; wanted are {', '.join(names)}")
    questions = spec.questions_about("claim")
    expected: dict[str, Any] = raw["expected"]
    if not expected:
        raise ValueError("expected: at least one guiding question must have its right answer")
    for name, value in expected.items():
        if name not in questions or questions[name].answer == "text" or not is_allowed_value(questions[name], value):
            raise ValueError(f"expected.{name}: {value!r} is not an answer to a guiding question about the task")
        if questions[name].field is not None and not str(fields.get(str(questions[name].field), "x")).strip():
            raise ValueError(f"expected.{name}: it is not asked, since {questions[name].field} is empty")
    paragraphs: list[Any] = raw.get("paragraphs") or []
    return make_task(
        [(name, str(fields[name])) for name in names],
        [(str(p.get("base", "")), str(p.get("title", "")), str(p["text"])) for p in paragraphs],
        expected=expected,
    )


def may_have_votes(database_env: str | None, workplace: Path) -> bool:
    """Whether there may be votes: a shared database is configured, or the build has its own."""
    return database_env is not None or (workplace / DATABASE_FILE).exists()


def open_annotation_store(database_env: str | None, workplace: Path) -> AnnotationStore:
    """Open the database of votes of a build.

    Raises:
        InstallationError: the extra ``review`` is not installed.
        DataError: the database cannot be opened.
    """
    with imports_of("review", "the database of votes"):
        from benchbuilder.annotation.database.store import AnnotationStore
    return AnnotationStore.open(database_url(database_env, workplace))


class TaskShape:
    """What `tasks` have in common: which fields are empty, how many paragraphs they show, and of which kind."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._counts = sorted(len(task.paragraphs) for task in tasks)
        self._pool = {paragraph.text: paragraph for task in tasks for paragraph in task.paragraphs}
        self._titled = bool(self._pool) and all(paragraph.title for paragraph in self._pool.values())
        self._filled = {name for task in tasks for name, text in task.fields if text}
        self._always = self._filled.intersection(*({name for name, text in task.fields if text} for task in tasks))

    def fit(self, task: Task) -> Task:
        """`task` with as many paragraphs as another task has: paragraphs of other tasks are mixed in.

        Raises:
            ValueError: it cannot look like the others.
        """
        if not self._counts:
            return task
        filled = {name for name, text in task.fields if text}
        if odd := sorted((self._always - filled) | (filled - self._filled)):
            raise ValueError(f"fields: all other tasks differ in {', '.join(odd)}; annotators would recognise it")
        if len(task.paragraphs) > self._counts[-1]:
            raise ValueError(
                f"paragraphs: it has {len(task.paragraphs)}, other tasks at most {self._counts[-1]}; "
                "annotators would recognise it"
            )
        if self._titled and not all(paragraph.title for paragraph in task.paragraphs):
            raise ValueError("paragraphs: those of all other tasks have a title; annotators would recognise it")
        possible = [count for count in self._counts if count >= len(task.paragraphs)]
        wanted = possible[int(_draw(task.key, "number"), 16) % len(possible)]
        return replace(task, paragraphs=self._mixed(task, wanted))

    def _mixed(self, task: Task, wanted: int) -> tuple[ShownParagraph, ...]:
        """The paragraphs of `task`, then others by hash: the best stand first, as in every task.

        Another paragraph in the pool changes few tasks.
        """
        own = {paragraph.text for paragraph in task.paragraphs}
        spare = sorted((text for text in self._pool if text not in own), key=lambda text: _draw(task.key, text))
        added = (
            replace(self._pool[text], key=paragraph_key(task.key, text))
            for text in spare[: wanted - len(task.paragraphs)]
        )
        return *task.paragraphs, *added


def _draw(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
