"""Collects votes on tasks, waits while judgements are missing, and summarises the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.aggregate import AggregatedLabels, aggregate_votes
from benchbuilder.annotation.base import AnnotationBackend, AnnotatorInstructions, Subject, Task, Votes
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests
from benchbuilder.config import AnnotationSpec, GuidingQuestion, ProjectSpec
from benchbuilder.core import StepContext, WaitingForPeople, count_phrase


@dataclass(frozen=True)
class CollectedVotes:
    """The requested judgements, the votes, and the labels that they decide."""

    requests: dict[Subject, JudgementRequest]
    votes: Votes
    labels: AggregatedLabels


def collect_votes(
    backend: AnnotationBackend,
    spec: AnnotationSpec,
    tasks: Sequence[Task],
    context: StepContext,
    subject_labels: Mapping[str, str],
) -> CollectedVotes:
    """Collect the decisions about `tasks`.

    `subject_labels` are names of what is judged, by subject kind (``claim``, ``evidence``), for messages.

    Raises:
        WaitingForPeople: judgements are missing; the backend has asked for them.
        DataError: votes are malformed.
    """
    requests = judgement_requests(tasks, spec)
    votes = backend.collect(requests.keys(), context.workplace)
    labels = aggregate_votes(requests, votes, spec)
    missing = labels.missing(requests)
    instructions = backend.ask(tasks, votes, missing, context)
    if missing:
        raise _waiting_error(votes, instructions, subject_labels, _expected_work(tasks, labels, spec))
    return CollectedVotes(requests, votes, labels)


def gate_description(name: str, question: GuidingQuestion, value: float) -> str:
    """Describe what failing the gate of a guiding question means."""
    needed = f"{value:g}" if question.answer == "binary" else f"{value:g} or more"
    return f"People did not answer {needed} to the guiding question {name!r}: {question.text}"


def decision_method(subject: Subject, labels: AggregatedLabels, spec: AnnotationSpec) -> str:
    """Name the method of a decision: adjudicated, mean of all, or unanimous."""
    if subject in labels.adjudicated_subjects:
        return "adjudicated"
    return "mean of all" if spec.rule == "mean" else "unanimous"


def summarise_questions(spec: AnnotationSpec, collected: CollectedVotes) -> dict[str, Any]:
    """Summarise each guiding question: its wording, and how often the decision passes (for binary questions: is 1)."""
    total, yes = Counter[str](), Counter[str]()
    questions = spec.questions_about()
    required = spec.gating_questions("claim") | spec.gating_questions("evidence")
    for subject, value in collected.labels.values.items():
        name = collected.requests[subject].question
        total[name] += 1
        least = 1.0 if questions[name].answer == "binary" else required.get(name, questions[name].threshold)
        yes[name] += value >= least
    return {
        name: {"label": question.label, "text": question.text, "subject": question.subject,
               "required": required.get(name), "yes": yes[name], "judged": total[name]}
        for name, question in questions.items()
    }  # fmt: skip


def summarise_votes(collected: CollectedVotes) -> dict[str, Any]:
    """Count votes per person, decisions per method, and votes without effect."""
    labels, votes = collected.labels, collected.votes
    vote_counts = Counter(person for values in votes.by_subject.values() for person in values)
    decision_counts = Counter(votes.decisions[subject][0] for subject in labels.adjudicated_subjects)
    return {
        "annotators": dict(sorted(vote_counts.items())) | dict(sorted(decision_counts.items())),
        "unanimous": len(labels.values) - len(labels.adjudicated_subjects),
        "adjudicated": len(labels.adjudicated_subjects),
        "unneeded": labels.unneeded_decisions,
        "stale": sum(votes.stale.values()),
        "stale_by_file": dict(sorted(votes.stale.items())),
    }


def summarise_comments(collected: CollectedVotes) -> list[dict[str, str]]:
    """Remarks of annotators, each with the key of its task or paragraph."""
    return [{"annotator": c.annotator, "shown": c.key, "text": c.text} for c in sorted(collected.votes.comments)]


def _expected_work(tasks: Sequence[Task], labels: AggregatedLabels, spec: AnnotationSpec) -> str:
    """How long people will work on what nobody judged, by the suggested time of a task; empty if none is suggested."""
    seconds = spec.suggested_seconds if isinstance(spec, ProjectSpec) else None
    if seconds is None:
        return ""
    open_votes = dict[str, int]()
    for subject, count in labels.missing_votes.items():
        open_votes[subject.key] = max(count, open_votes.get(subject.key, 0))
    count = sum(open_votes.get(task.key, 0) for task in tasks)
    hours = count * seconds / 3600
    return f"; about {hours:.{0 if hours >= 10 else 1}f} hours of work, at {seconds} s a task" if count else ""


def _waiting_error(
    votes: Votes, instructions: AnnotatorInstructions, subject_labels: Mapping[str, str], work: str
) -> WaitingForPeople:
    missing = instructions.missing
    total = sum(missing.values())
    people = dict.fromkeys(name.rpartition(": ")[0] for name in missing)
    phrases = ", ".join(
        f"{person} {' and '.join(_missing_phrases(person, missing, subject_labels))}" for person in people
    )
    stale = sum(votes.stale.values())
    warnings = [instructions.warning] if instructions.warning else []
    if stale:
        warnings.append(f"{stale} votes are about something that is no longer shown and do not count")
    return WaitingForPeople(
        f"{count_phrase(total, 'judgement')} {'is' if total == 1 else 'are'} missing: {phrases}{work}",
        missing=dict(missing),
        where=instructions.where,
        why="; ".join(warnings),
        next=instructions.next,
    )


def _missing_phrases(person: str, missing: Mapping[str, int], subject_labels: Mapping[str, str]) -> list[str]:
    return [
        f"{missing[f'{person}: {sort}']} {word}"
        for sort, word in subject_labels.items()
        if f"{person}: {sort}" in missing
    ]
