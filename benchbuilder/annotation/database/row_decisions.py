"""What the votes on a rating project decide about each of its rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.base import Task
from benchbuilder.annotation.tasks import judgement_requests

if TYPE_CHECKING:
    from benchbuilder.annotation.database.store import AnnotationStore

_SEVERAL = " | "


@dataclass
class RowDecisions:
    """The decisions about one row.

    Attributes:
        task: The task that showed it.
        values: The decision on each guiding question that has one.
        adjudicated: The questions that were in dispute and are decided.
        waiting: The required questions that wait for votes, or for an adjudicator.
        remarks: What people wrote, by question that asks for a text.
        people: The codes of those who voted.
    """

    task: Task
    values: dict[str, float] = field(default_factory=dict[str, float])
    adjudicated: list[str] = field(default_factory=list[str])
    waiting: list[str] = field(default_factory=list[str])
    remarks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    people: set[str] = field(default_factory=set[str])

    @property
    def is_complete(self) -> bool:
        """Whether every required question is decided."""
        return not self.waiting

    def about(self, name: str) -> tuple[str, ...]:
        """The values of a column that was not shown; several if several rows are the same task."""
        return tuple(filter(None, dict(self.task.about).get(name, "").split(_SEVERAL)))

    def as_row(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "item": list(self.about("id")), "fields": dict(self.task.fields), "decisions": self.values,
            "adjudicated": self.adjudicated, "waiting": self.waiting, "remarks": self.remarks,
            "people": sorted(self.people),
        }  # fmt: skip


def row_decisions(store: AnnotationStore, project_name: str) -> list[RowDecisions]:
    """The decisions about each row of a project, with rows that are no longer shown; empty if it does not exist yet."""
    project = store.project(project_name)
    if project is None:
        return []
    votes = store.current_votes(project_name, include_retired=True)
    current = {number for number, _ in store.tasks(project_name)}
    tasks = dict(store.tasks(project_name, include_retired=True))
    requests = judgement_requests(list(tasks.values()), project.spec)
    labels = aggregate_votes(requests, votes, project.spec)
    found = {task.key: RowDecisions(task) for task in tasks.values()}
    texts = {name for name, question in project.spec.questions_about().items() if question.answer == "text"}
    for subject, request in requests.items():
        one, cast = found[request.task_key], votes.by_subject.get(subject, {})
        one.people |= set(cast)
        if subject in labels.values:
            one.values[request.question] = labels.values[subject]
        if subject in labels.adjudicated_subjects:
            one.adjudicated.append(request.question)
        if subject in labels.missing_votes or subject in labels.disputed_subjects:
            one.waiting.append(request.question)
        written = [str(value) for _, value in sorted(cast.items())] if request.question in texts else []
        if written:
            one.remarks[request.question] = written
    retired = {task.key for number, task in tasks.items() if number not in current}
    return [one for one in found.values() if one.task.key not in retired or one.people]


def error_reports(one: RowDecisions, project: str, kinds: Collection[str]) -> Iterator[Mapping[str, str]]:
    """A report for each guiding question that has the name of a kind of error, and that people answered with yes."""
    remarks = [text for texts in one.remarks.values() for text in texts]
    for kind, value in one.values.items():
        if kind in kinds and value >= 1:
            how = "decided by an adjudicator" if kind in one.adjudicated else f"found by {len(one.people)} people"
            text = " / ".join([f"review {project}: {kind}, {how}", *remarks])
            for item in one.about("id"):
                yield {"item": item, "kind": kind, "text": text, "who": f"review {project}"}
