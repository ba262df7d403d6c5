"""Aggregates votes into decisions, and measures how far annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchbuilder.annotation.base import MissingJudgements, Subject, Value, Votes
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.annotation.values import aggregate_value, is_disputed
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import RatingLevel, measure_agreement


@dataclass
class AggregatedLabels:
    """What votes decide, and what is still missing.

    `values` maps subjects to decisions; texts are not decided. `adjudicated_subjects` were in dispute and are decided.
    `missing_votes` maps subjects to the number of annotators who still have to judge them. `disputed_subjects` wait for
    an adjudicator. Both keep the order of the requests. `unneeded_decisions` counts decisions of adjudicators on
    subjects that are not in dispute (any more); they have no effect.
    """

    values: dict[Subject, float] = field(default_factory=dict[Subject, float])
    adjudicated_subjects: set[Subject] = field(default_factory=set[Subject])
    missing_votes: dict[Subject, int] = field(default_factory=dict[Subject, int])
    disputed_subjects: list[Subject] = field(default_factory=list[Subject])
    unneeded_decisions: int = 0

    def missing(self, requests: Mapping[Subject, JudgementRequest]) -> MissingJudgements:
        """What people still have to judge."""
        kinds = {subject: request.subject_kind for subject, request in requests.items()}
        return MissingJudgements(self.missing_votes, tuple(self.disputed_subjects), kinds)


def aggregate_votes(
    requests: Mapping[Subject, JudgementRequest], votes: Votes, spec: AnnotationSpec
) -> AggregatedLabels:
    """Decide what the votes decide; an adjudicator is asked only after all annotators have judged."""
    labels = AggregatedLabels()
    votes_per_task, questions = spec.votes_per_task(), spec.questions_about()
    for subject, request in requests.items():
        values = list(votes.by_subject.get(subject, {}).values())
        question = questions[request.question]
        decision = votes.decisions.get(subject)
        if not question.required and not values:
            continue
        if question.required and len(values) < votes_per_task:
            labels.missing_votes[subject] = votes_per_task - len(values)
            continue
        if spec.rule == "mean" or not is_disputed(question, values):
            if question.answer != "text":
                labels.values[subject] = aggregate_value(question, values)
            labels.unneeded_decisions += decision is not None
        elif decision is not None and not isinstance(decision[1], str):
            labels.values[subject] = float(decision[1])
            labels.adjudicated_subjects.add(subject)
        else:
            labels.disputed_subjects.append(subject)
    return labels


def measure_vote_agreement(
    requests: Mapping[Subject, JudgementRequest], votes: Votes, spec: AnnotationSpec
) -> dict[str, Any]:
    """Measure how far annotators agree before adjudication, for each guiding question that is not a text.

    Bootstrap intervals resample tasks. Returns for each question its ``scale`` and the measures that
    `core.measure_agreement` documents.
    """
    questions = {name: question for name, question in spec.questions_about().items() if question.answer != "text"}
    clusters: dict[str, dict[str, list[Mapping[str, Value]]]] = {name: {} for name in questions}
    for subject, request in requests.items():
        values = votes.by_subject.get(subject, {})
        if request.question in questions and len(values) >= 2:
            clusters[request.question].setdefault(request.task_key, []).append(values)
    return {
        name: _measure_question(questions[name], list(by_task.values()), spec) for name, by_task in clusters.items()
    }


_LEVELS: Mapping[str, RatingLevel] = {"binary": "nominal", "scale": "ordinal", "scalar": "interval"}


def _measure_question(
    question: GuidingQuestion, clusters: list[list[Mapping[str, Value]]], spec: AnnotationSpec
) -> Any:
    bootstrap, scale = spec.bootstrap, _LEVELS[question.answer]
    measures = measure_agreement(
        clusters, level=scale, samples=bootstrap.samples, confidence_level=bootstrap.level, seed=bootstrap.seed,
        tolerance=question.tolerance if scale == "interval" else None,
        categories=(0, 1) if scale == "nominal" else (),
    )  # fmt: skip
    return {"scale": scale, **measures}


def count_missing(missing: MissingJudgements, annotators: str, adjudicator: str) -> dict[str, int]:
    """Count missing judgements by ``WHO: claim`` and ``WHO: evidence``; annotators are counted together."""
    counts = Counter[str]()
    for subject, n in missing.votes.items():
        counts[f"{annotators}: {missing.subject_kinds[subject]}"] += n
    for subject in missing.decisions:
        counts[f"{adjudicator}: {missing.subject_kinds[subject]}"] += 1
    return dict(counts)


def overrides_annotators(question: GuidingQuestion, value: Value, answers: Sequence[Value | None]) -> bool:
    """Whether a decision contradicts every annotator: nobody gave it, or it is outside the range of their scalars.

    >>> grade = GuidingQuestion(order=1, subject="claim", label="a", text="b", answer="scalar")
    >>> overrides_annotators(grade, 0.6, (0.2, 0.9)), overrides_annotators(grade, 0.1, (0.2, 0.9))
    (False, True)
    """
    numbers = [float(each) for each in answers if each is not None and not isinstance(each, str)]
    if isinstance(value, str) or not numbers:
        return True
    if question.answer == "scalar":
        return not min(numbers) - 1e-9 <= value <= max(numbers) + 1e-9
    return float(value) not in numbers
