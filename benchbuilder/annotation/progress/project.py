"""The progress of a project: completion, agreement, and the outcome of tasks by the votes so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from benchbuilder.annotation.aggregate import AggregatedLabels, aggregate_votes
from benchbuilder.annotation.base import Subject, Task, Votes
from benchbuilder.annotation.gates import (
    EVIDENCE_GATE,
    CandidateDecisions,
    first_failed_gate,
    gate_funnel,
    threshold_table,
)
from benchbuilder.annotation.progress.agreement import QuestionAgreement, question_agreements
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests
from benchbuilder.annotation.values import passes_gate
from benchbuilder.config import ProjectSpec

TaskOutcome = Literal["kept", "dropped", "open"]


@dataclass(frozen=True)
class Completion:
    """How much is judged. A task is `complete` if every required question about it has all its votes.

    `votes_required` and `votes_given` count votes on required questions; surplus votes do not count.
    `decisions_required` are disputes, of which `decisions_given` are decided.
    """

    tasks: int
    complete: int
    partial: int
    votes_required: int
    votes_given: int
    decisions_required: int
    decisions_given: int


@dataclass(frozen=True)
class TaskProgress:
    """The outcome of a task by the votes so far; `number` counts from 1 in the order of the tasks.

    ``open`` tasks lack `missing_votes` or `missing_decisions`. A ``dropped`` task failed `gate` first (a guiding
    question or ``min_evidence``): `decision` is the decision, `required_decision` the one required. `adjudicated_count`
    counts decisions of an adjudicator.
    """

    number: int
    key: str
    text: str
    partition: str
    outcome: TaskOutcome
    missing_votes: int = 0
    missing_decisions: int = 0
    gate: str = ""
    decision: float | None = None
    required_decision: float | None = None
    adjudicated_count: int = 0


@dataclass(frozen=True)
class ProjectProgress:
    """The progress of a project by the votes so far, without gold tasks.

    `thresholds` (as `threshold_table` returns them) and `gates` (as `gate_funnel` does) are about tasks that are not
    open. `samples` is the number of resamples for the intervals of `questions`. `has_gates` is false if the recipe
    drops nothing; then ``kept`` means judged.
    """

    completion: Completion
    questions: tuple[QuestionAgreement, ...]
    thresholds: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    tasks: tuple[TaskProgress, ...]
    samples: int
    has_gates: bool

    def count(self, outcome: TaskOutcome) -> int:
        """How many tasks are kept, dropped or open."""
        return sum(task.outcome == outcome for task in self.tasks)


def project_progress(
    spec: ProjectSpec,
    tasks: Sequence[Task],
    votes: Votes,
    *,
    samples: int | None = None,
    requests: Mapping[Subject, JudgementRequest] | None = None,
) -> ProjectProgress:
    """The progress of the project `spec` with `tasks`, by the rules of the build.

    `samples` replaces the recipe's number of resamples for intervals: fewer are quicker and coarser. `requests` are all
    judgements that are requested about the tasks that are not gold, if they are known already.
    """
    live = [task for task in tasks if not task.expected]
    if requests is None:
        requests = judgement_requests(live, spec)
    labels = aggregate_votes(requests, votes, spec)
    counter = _ProgressCounter(spec, requests, votes, labels)
    rows = [counter.task_progress(number, task) for number, task in enumerate(live, start=1)]
    closed = [decisions for _, decisions in rows if decisions is not None]
    samples = samples or spec.bootstrap.samples
    return ProjectProgress(
        completion=counter.completion(),
        questions=question_agreements(spec, requests, votes, labels, samples),
        thresholds=threshold_table(closed, spec),
        gates=gate_funnel(closed, spec),
        tasks=tuple(task for task, _ in rows),
        samples=samples,
        has_gates=bool(spec.gating_questions("claim") or spec.min_evidence or spec.thresholds),
    )


class _ProgressCounter:
    """Counts what votes decide about single tasks."""

    def __init__(
        self, spec: ProjectSpec, requests: Mapping[Subject, JudgementRequest], votes: Votes, labels: AggregatedLabels
    ) -> None:
        self._spec, self._votes, self._labels = spec, votes, labels
        self._disputed = set(labels.disputed_subjects)
        self._questions, self._each = spec.questions_about(), spec.votes_per_task()
        self._required = {name for name, question in self._questions.items() if question.required}
        self._gating, self._supporting = spec.gating_questions("claim"), spec.gating_questions("evidence")
        self._adjudicated = Counter(requests[subject].task_key for subject in labels.adjudicated_subjects)
        self._by_task: dict[str, list[tuple[Subject, JudgementRequest]]] = {}
        for subject, what in requests.items():
            self._by_task.setdefault(what.task_key, []).append((subject, what))
        self._failed: dict[CandidateDecisions, str | None] = {}
        self._full = self._partly = self._given = self._wanted = 0

    def task_progress(self, number: int, task: Task) -> tuple[TaskProgress, CandidateDecisions | None]:
        """The progress of a task, and what its gates depend on if no decision is missing."""
        decided, requests = self._labels.values, self._by_task.get(task.key, [])
        votes = decisions = 0
        answers: dict[str, float] = {}
        idle: set[str] = set()
        for subject, request in requests:
            value = decided.get(subject)
            if value is None:
                if subject in self._disputed:
                    decisions += 1
                else:
                    votes += self._labels.missing_votes.get(subject, 0)
            elif request.subject_kind == "claim":
                answers[request.question] = value
            elif self._is_unsupportive(request.question, value):
                idle.add(subject.key)
        self._count_votes(requests, votes)
        progress = TaskProgress(
            number, task.key, task.text, _partition(task), "open", votes, decisions,
            adjudicated_count=self._adjudicated[task.key],
        )  # fmt: skip
        if votes or decisions:
            return progress, None
        gating = {name: answers[name] for name in self._gating if name in answers}
        profile = CandidateDecisions(progress.partition, gating, len(task.paragraphs) - len(idle))
        return self._apply_gates(progress, profile), profile

    def completion(self) -> Completion:
        """Of the tasks looked at so far."""
        decided = len(self._labels.adjudicated_subjects)
        return Completion(
            tasks=len(self._by_task),
            complete=self._full,
            partial=self._partly,
            votes_required=self._wanted,
            votes_given=self._given,
            decisions_required=decided + len(self._disputed),
            decisions_given=decided,
        )

    def _count_votes(self, requests: Sequence[tuple[Subject, JudgementRequest]], missing: int) -> None:
        wanted = self._each * sum(request.question in self._required for _, request in requests)
        self._wanted += wanted
        self._given += wanted - missing
        if missing < wanted or any(self._votes.by_subject.get(subject) for subject, _ in requests):
            self._full += not missing
            self._partly += bool(missing)

    def _is_unsupportive(self, question: str, value: float) -> bool:
        needed = self._supporting.get(question)
        return needed is not None and not passes_gate(self._questions[question], value, needed)

    def _apply_gates(self, progress: TaskProgress, profile: CandidateDecisions) -> TaskProgress:
        if profile not in self._failed:
            self._failed[profile] = first_failed_gate(profile, self._spec, self._spec.min_evidence)
        gate = self._failed[profile]
        if gate is None:
            return replace(progress, outcome="kept")
        if gate == EVIDENCE_GATE:
            decided, needed = float(profile.supporting_paragraphs), float(self._spec.min_evidence)
        else:
            decided, needed = profile.answers[gate], self._gating[gate]
        return replace(progress, outcome="dropped", gate=gate, decision=decided, required_decision=needed)


def _partition(task: Task) -> str:
    return next((value for name, value in task.about if name == "partition"), "")
