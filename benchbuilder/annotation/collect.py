"""Asking people about tasks, waiting while something is missing, and telling what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.aggregate import AggregatedLabels, aggregate_votes
from benchbuilder.annotation.base import AnnotationBackend, AnnotatorInstructions, Subject, Task, Votes
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import StepContext, WaitingForPeople, count_phrase


@dataclass(frozen=True)
class CollectedVotes:
    """What people were asked, what came back, and what it decides."""

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
    """What people decided about `tasks`; while something is missing, ask for it and wait.

    `subject_labels` names what is judged, by subject of guiding questions: it tells of what is missing.
    """
    asked = judgement_requests(tasks, spec)
    ballot = backend.collect(asked.keys(), context.workplace)
    verdicts = aggregate_votes(asked, ballot, spec)
    wanted = verdicts.missing(asked)
    instructions = backend.ask(tasks, ballot, wanted, context)
    if wanted:
        raise _waiting_error(ballot, instructions, subject_labels)
    return CollectedVotes(asked, ballot, verdicts)


def gate_description(name: str, question: GuidingQuestion, value: float) -> str:
    """What it means to fail the gate of a guiding question."""
    needed = f"{value:g}" if question.answer == "binary" else f"{value:g} or more"
    return f"People did not answer {needed} to the guiding question {name!r}: {question.text}"


def decision_method(subject: Subject, labels: AggregatedLabels, spec: AnnotationSpec) -> str:
    """How a decision came about, in a word or two."""
    if subject in labels.adjudicated_subjects:
        return "adjudicated"
    return "mean of all" if spec.rule == "mean" else "unanimous"


def summarise_questions(spec: AnnotationSpec, collected: CollectedVotes) -> dict[str, Any]:
    """What was asked, and how often it was decided so that it passes (binary: so that it is 1)."""
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
    """Who voted how often, how it was decided, and what did not count."""
    verdicts, ballot = collected.labels, collected.votes
    cast = Counter(person for votes in ballot.by_subject.values() for person in votes)
    deciding = Counter(ballot.decisions[subject][0] for subject in verdicts.adjudicated_subjects)
    return {
        "annotators": dict(sorted(cast.items())) | dict(sorted(deciding.items())),
        "unanimous": len(verdicts.values) - len(verdicts.adjudicated_subjects),
        "adjudicated": len(verdicts.adjudicated_subjects),
        "unneeded": verdicts.unneeded_decisions,
        "stale": sum(ballot.stale.values()),
        "stale_by_file": dict(sorted(ballot.stale.items())),
    }


def summarise_comments(collected: CollectedVotes) -> list[dict[str, str]]:
    """Remarks of annotators, each with the key of what it is about."""
    return [{"annotator": c.annotator, "shown": c.key, "text": c.text} for c in sorted(collected.votes.comments)]


def _waiting_error(
    votes: Votes, instructions: AnnotatorInstructions, subject_labels: Mapping[str, str]
) -> WaitingForPeople:
    missing = instructions.missing
    total = sum(missing.values())
    people = dict.fromkeys(name.rpartition(": ")[0] for name in missing)
    told = ", ".join(f"{person} {' and '.join(_missing_phrases(person, missing, subject_labels))}" for person in people)
    stale = sum(votes.stale.values())
    warnings = [instructions.warning] if instructions.warning else []
    if stale:
        warnings.append(f"{stale} votes are about something that is no longer shown and do not count")
    return WaitingForPeople(
        f"{count_phrase(total, 'judgement')} {'is' if total == 1 else 'are'} missing: {told}",
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
