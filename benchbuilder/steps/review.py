"""The base class of steps in which people judge rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchbuilder.annotation import (
    AnnotationBackend,
    CollectedVotes,
    Subject,
    Task,
    collect_votes,
    decision_method,
    gate_description,
    judgement_requests,
    measure_vote_agreement,
    summarise_comments,
    summarise_questions,
    summarise_voter_model,
    summarise_votes,
    wording_key,
)
from benchbuilder.config import AnnotationSpec, KindSpec
from benchbuilder.core import Dropped, Problem, RecipeError, StepContext
from benchbuilder.steps.base import Gather


class ReviewStep(Gather):
    """A gather that collects votes from its annotation backend, and waits while judgements are missing.

    Each gating question about rows adds a drop reason ``not_`` and its name. `spec` has the field `votes`.
    """

    subject_labels: ClassVar[Mapping[str, str]]
    """What is judged, by subject kind, for messages."""

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        if spec.votes is None:
            raise RecipeError([Problem("the step has no votes", key=f"steps.{context.step}.votes", actual="null",
                                       hint="add annotation: sheets, or name in `votes` who judges what")])  # fmt: skip
        self.backend = self.open_backend(spec.votes)
        annotation = self.backend.annotation_spec
        questions = annotation.questions_about() if annotation else {}
        gates = annotation.gating_questions("claim") if annotation else {}
        own = {f"not_{name}": gate_description(name, questions[name], value) for name, value in gates.items()}
        self.reasons = own | dict(type(self).reasons)  # pyright: ignore[reportIncompatibleVariableOverride, reportAttributeAccessIssue]

    @abstractmethod
    def open_backend(self, votes: KindSpec) -> AnnotationBackend:
        """The backend that the recipe chooses; RecipeError if the step cannot use it."""

    def external_inputs(self) -> Mapping[str, str]:
        """Hashes of all votes so far."""
        return self.backend.external_inputs(self.context.workplace)

    def collect(self, annotation: AnnotationSpec, tasks: Sequence[Task]) -> CollectedVotes:
        """The votes on `tasks` and what they decide; WaitingForPeople after it has asked for missing judgements."""
        return collect_votes(self.backend, annotation, tasks, self.context, self.subject_labels)

    @abstractmethod
    def shown_tasks(self, tables: Mapping[str, Iterable[Any]]) -> tuple[Sequence[Task], Mapping[str, str]]:
        """The tasks that show the rows of the ports, and the key of the task of each row by its id."""

    def voters(self, tables: Mapping[str, Iterable[Any]], workplace: Path) -> dict[str, frozenset[str]]:
        """Who voted on each row, on its paragraphs, or decided about them, by the id of the row."""
        annotation = self.backend.annotation_spec
        if annotation is None:
            return {}
        tasks, key_of = self.shown_tasks(tables)
        requests = judgement_requests(tasks, annotation)
        votes = self.backend.collect(requests.keys(), workplace)
        people: dict[str, set[str]] = {}
        for subject, request in requests.items():
            people.setdefault(request.task_key, set()).update(votes.by_subject.get(subject, {}))
            if subject in votes.decisions:
                people[request.task_key].add(votes.decisions[subject][0])
        return {row: frozenset(people.get(key, ())) for row, key in key_of.items()}


def decisions_about(
    key: str, names: Iterable[str], votes: CollectedVotes, annotation: AnnotationSpec
) -> dict[str, float]:
    """The decisions on the named guiding questions that are asked about the task with `key`."""
    questions = annotation.questions_about()
    subjects = {name: Subject(key, wording_key(questions[name])) for name in names}
    return {name: votes.labels.values[subject] for name, subject in subjects.items() if subject in votes.requests}


def dropped_by_gate(gate: str, key: str, votes: CollectedVotes, annotation: AnnotationSpec) -> Dropped:
    """The drop of the row with `key` by a gating question, with the method of the decision."""
    subject = Subject(key, wording_key(annotation.questions_about()[gate]))
    return Dropped(f"not_{gate}", decision_method(subject, votes.labels, annotation))


def review_notes(votes: CollectedVotes, annotation: AnnotationSpec) -> dict[str, Any]:
    """The notes of every reviewed step; see `benchbuilder.steps.annotate`."""
    return {
        "reviewed": True,
        "agreement": measure_vote_agreement(votes.requests, votes.votes, annotation),
        "questions": summarise_questions(annotation, votes),
        "votes": summarise_votes(votes),
        "voter_model": summarise_voter_model(annotation, votes),
        "comments": summarise_comments(votes),
    }
