"""What people said in a project of the review app, with what it is about: from its database, or from an export."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.database.open import may_have_votes, open_annotation_store
from benchbuilder.annotation.tasks import wording_key

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore

EXPORT_COLUMNS = frozenset({"question", "value", "code", "role", "key", "wording"})
"""Columns by which an export of votes (`benchbuild votes export csv`) is known."""
_SEVERAL = " | "
_SHIELD = re.compile(r"'(?=['=+\-@\t\r\n＝＋－＠])")


@dataclass(frozen=True, slots=True)
class ProjectAnswer:
    """The value that a person gave to a guiding question about a task as a whole.

    `fields` is what the task shows; `metadata` what it does not, by name: several values where several rows of the work
    list show the same. `person` is a code. `value` is text where it comes from an export.
    """

    location: str
    fields: Mapping[str, str]
    metadata: Mapping[str, tuple[str, ...]]
    question: str
    person: str
    role: str
    value: object


def read_project_answers(project: str, database_env: str | None, workplace: Path) -> list[ProjectAnswer]:
    """What counts in the database, planted tasks aside, also on tasks that are not asked any more.

    Only what answers a guiding question as it is worded now. Nothing if the project is not laid out yet.
    """
    if not may_have_votes(database_env, workplace):
        return []
    with open_annotation_store(database_env, workplace) as ballots:
        return list(_project_answers(ballots, project))


def project_answers_digest(project: str, database_env: str | None, workplace: Path) -> str:
    """Hash of all that was said in the project; empty before there is a database."""
    if not may_have_votes(database_env, workplace):
        return ""
    with open_annotation_store(database_env, workplace) as ballots:
        return ballots.votes_digest(project)


def _project_answers(store: AnnotationStore, name: str) -> Iterable[ProjectAnswer]:
    project = store.project(name)
    if project is None:
        return
    ballot = store.current_votes(name, include_retired=True)
    questions = project.spec.questions_about("claim")
    for _, task in store.tasks(name, include_retired=True):
        fields = dict(task.fields)
        about = {key: tuple(value.split(_SEVERAL)) for key, value in task.about}
        for question, asked in questions.items():
            subject = Subject(task.key, wording_key(asked))
            where = f"the project {name!r} of the review app"
            for code, value in sorted(ballot.by_subject.get(subject, {}).items()):
                yield ProjectAnswer(where, fields, about, question, code, "annotator", value)
            if decision := ballot.decisions.get(subject):
                yield ProjectAnswer(where, fields, about, question, decision[0], "adjudicator", decision[1])


def read_exported_answers(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[ProjectAnswer]:
    """What counts of the rows (with their lines) of an export; rows about planted tasks and paragraphs are left out."""
    found: list[ProjectAnswer] = []
    for line, raw in rows:
        row = {name: unshield_cell(str(cell)) if cell else "" for name, cell in raw.items()}
        if row.get("counts", "1").strip() == "0" or row.get("paragraph") or not row["value"].strip():
            continue
        about = {name[6:]: tuple(cell.split(_SEVERAL)) for name, cell in row.items() if name.startswith("about_")}
        if not any(value for values in about.values() for value in values):
            continue
        fields = {name[5:]: cell for name, cell in row.items() if name.startswith("text_")}
        where = f"{path.name}:{line}"
        found.append(ProjectAnswer(where, fields, about, row["question"], row["code"], row["role"], row["value"]))
    return found


def unshield_cell(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from taking it for a formula.

    >>> unshield_cell("'=1"), unshield_cell("'tis")
    ('=1', "'tis")
    """
    return _SHIELD.sub("", cell, count=1) if cell.startswith("'") else cell
