"""Reads the answers of a project of the review app, with the fields they are about, from a database or an export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.project_setup import may_have_votes, open_annotation_store
from benchbuilder.annotation.sheets.sheets import unescape_formula
from benchbuilder.annotation.tasks import wording_key

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore

EXPORT_COLUMNS = frozenset({"question", "value", "code", "role", "key", "wording"})
"""Columns that identify an export of votes (`benchbuild votes export csv`)."""
_SEVERAL = " | "


@dataclass(frozen=True, slots=True)
class ProjectAnswer:
    """The value that a person gave to a guiding question about a task as a whole.

    `fields` is what the task shows. `metadata` is what it does not show, by name; it has several values if several rows
    are the same task. `person` is a code. `value` is a text if it comes from an export.
    """

    location: str
    fields: Mapping[str, str]
    metadata: Mapping[str, tuple[str, ...]]
    question: str
    person: str
    role: str
    value: object


def read_project_answers(project: str, database_env: str | None, workplace: Path) -> list[ProjectAnswer]:
    """The answers that count in the database, without gold tasks, including answers on retired tasks.

    Only answers to the current wording of a guiding question are included. Empty if the project does not exist yet.
    """
    if not may_have_votes(database_env, workplace):
        return []
    with open_annotation_store(database_env, workplace) as store:
        return list(_project_answers(store, project))


def project_answers_digest(project: str, database_env: str | None, workplace: Path) -> str:
    """Hash of all answers in the project; empty if there is no database yet."""
    if not may_have_votes(database_env, workplace):
        return ""
    with open_annotation_store(database_env, workplace) as store:
        return store.votes_digest(project)


def _project_answers(store: AnnotationStore, project_name: str) -> Iterable[ProjectAnswer]:
    project = store.project(project_name)
    if project is None:
        return
    votes = store.current_votes(project_name, include_retired=True)
    questions = project.spec.questions_about("claim")
    for _, task in store.tasks(project_name, include_retired=True):
        fields = dict(task.fields)
        about = {key: tuple(value.split(_SEVERAL)) for key, value in task.about}
        for name, question in questions.items():
            subject = Subject(task.key, wording_key(question))
            where = f"the project {project_name!r} of the review app"
            for code, value in sorted(votes.by_subject.get(subject, {}).items()):
                yield ProjectAnswer(where, fields, about, name, code, "annotator", value)
            if decision := votes.decisions.get(subject):
                yield ProjectAnswer(where, fields, about, name, decision[0], "adjudicator", decision[1])


def read_exported_answers(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[ProjectAnswer]:
    """The answers that count in the rows (with line numbers) of an export, without gold tasks and paragraphs."""
    answers: list[ProjectAnswer] = []
    for line, raw in rows:
        row = {name: unescape_formula(str(cell)) if cell else "" for name, cell in raw.items()}
        if row.get("counts", "1").strip() == "0" or row.get("paragraph") or not row["value"].strip():
            continue
        about = {name[6:]: tuple(cell.split(_SEVERAL)) for name, cell in row.items() if name.startswith("about_")}
        if not any(value for values in about.values() for value in values):
            continue
        fields = {name[5:]: cell for name, cell in row.items() if name.startswith("text_")}
        where = f"{path.name}:{line}"
        answers.append(ProjectAnswer(where, fields, about, row["question"], row["code"], row["role"], row["value"]))
    return answers
