"""Agreement on each guiding question: figures with intervals, or a code for the reason why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.annotation.aggregate import AggregatedLabels, measure_vote_agreement
from benchbuilder.annotation.base import Subject, Value, Votes
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import FloorStanding, has_prevalence_paradox, hold_to_floor

WhyUndefined = Literal["", "nothing", "unanimous", "few", "alike"]
WhyWithoutInterval = Literal["", "single", "resamples"]

AGREEMENT_MEASURES = (
    "percent", "kappa", "weighted_kappa", "ac1", "mean_difference", "within_tolerance", "alpha", "icc21", "icc2k",
)  # fmt: skip

_OBSERVED_MEASURES = ("percent", "mean_difference", "within_tolerance")
"""Measures of observed agreement; the others correct for chance, which is undefined if all answers are equal."""


@dataclass(frozen=True)
class AgreementFigure:
    """A measure of agreement with its interval, or why it is undefined.

    `undefined_reason` is ``nothing`` (no two people judged the same), ``unanimous`` (all answers are `only_value`),
    ``few`` (fewer than two subjects were judged by everybody) or ``alike`` (the answers do not differ between
    subjects). If only the interval is missing, `missing_interval_reason` is ``single`` (one task) or ``resamples``
    (undefined in most resamples).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined_reason: WhyUndefined = ""
    only_value: float | None = None
    missing_interval_reason: WhyWithoutInterval = ""


@dataclass(frozen=True)
class QuestionAgreement:
    """Agreement on a guiding question before adjudication, and its disputes.

    `shared_count` counts subjects that two or more people judged; `measures` (in the order of `AGREEMENT_MEASURES`) are
    about these, and empty for texts. `judged_count` counts subjects with all their votes, `disputed_count` those in
    dispute, `settled_count` those that an adjudicator decided. `most_common` is the most frequent answer and its
    proportion of all answers. `paradox` is true if people mostly agree, yet kappa is low because one answer is so
    frequent. `standing` is where the agreement stands against the floor, if there is one.
    """

    name: str
    question: GuidingQuestion
    required: float | None
    scale: str
    raters: int
    shared_count: int
    measures: Mapping[str, AgreementFigure]
    kappa_kind: str
    paradox: bool
    most_common: tuple[float, float] | None
    judged_count: int
    disputed_count: int
    settled_count: int
    standing: FloorStanding | None


def question_agreements(
    spec: AnnotationSpec,
    requests: Mapping[Subject, JudgementRequest],
    votes: Votes,
    labels: AggregatedLabels,
    samples: int,
) -> tuple[QuestionAgreement, ...]:
    """One for each guiding question in their order, with intervals of `samples` resamples."""
    draw = spec.bootstrap.model_copy(update={"samples": samples})
    measures = measure_vote_agreement(requests, votes, spec.model_copy(update={"bootstrap": draw}))
    waiting = Counter(requests[subject].question for subject in labels.disputed_subjects)
    settled = Counter(requests[subject].question for subject in labels.adjudicated_subjects)
    judged = waiting + Counter(requests[subject].question for subject in labels.values)
    answers = _count_answers(spec, requests, votes)
    required = spec.gating_questions("claim") | spec.gating_questions("evidence")
    return tuple(
        QuestionAgreement(
            name=name,
            question=question,
            required=required.get(name),
            scale=measures[name]["scale"] if name in measures else "",
            raters=len(answers[name].people),
            shared_count=answers[name].shared_count,
            measures={
                measure: _figure(measures[name], measure, answers[name])
                for measure in AGREEMENT_MEASURES
                if measure in measures.get(name, {})
            },
            kappa_kind=measures[name].get("kappa_kind", "cohen") if name in measures else "",
            paradox=name in measures and has_prevalence_paradox(measures[name]),
            most_common=answers[name].most_common(),
            judged_count=judged[name] or answers[name].complete_count,
            disputed_count=waiting[name] + settled[name],
            settled_count=settled[name],
            standing=_standing(measures[name], _base_rate(question, name, requests, labels), spec)
            if name in measures
            else None,
        )
        for name, question in spec.questions_about().items()
    )


def _standing(data: Mapping[str, Any], base_rate: float | None, spec: AnnotationSpec) -> FloorStanding | None:
    floor = spec.floor
    return hold_to_floor(data, alpha=floor.alpha, raw=floor.raw, level=spec.bootstrap.level, base_rate=base_rate)


def _base_rate(
    question: GuidingQuestion, name: str, requests: Mapping[Subject, JudgementRequest], labels: AggregatedLabels
) -> float | None:
    """The share of the more frequent decision on a question of yes and no; ``None`` before the first one."""
    if question.answer != "binary":
        return None
    decided = Counter(value for subject, value in labels.values.items() if requests[subject].question == name)
    return decided.most_common(1)[0][1] / decided.total() if decided else None


class _AnswerCounts:
    """Answers to one question: `shared_count` subjects with two or more votes, `complete_count` with all votes."""

    def __init__(self) -> None:
        self.values = Counter[Value]()
        self.people = set[str]()
        self.shared_count = self.complete_count = 0

    def most_common(self) -> tuple[float, float] | None:
        numbers = [(value, n) for value, n in self.values.most_common(1) if not isinstance(value, str)]
        return next(((float(value), n / self.values.total()) for value, n in numbers), None)

    def only_value(self) -> float | None:
        """The value that everybody gave, if it is just one."""
        common = self.most_common()
        return common[0] if common and len(self.values) == 1 else None


def _count_answers(
    spec: AnnotationSpec, requests: Mapping[Subject, JudgementRequest], current_votes: Votes
) -> dict[str, _AnswerCounts]:
    each = spec.votes_per_task()
    counts = {name: _AnswerCounts() for name in spec.questions_about()}
    values: dict[str, list[Value]] = {name: [] for name in counts}
    for subject, votes in current_votes.by_subject.items():
        request = requests.get(subject)
        if request is None:
            continue
        count = counts[request.question]
        count.complete_count += len(votes) >= each
        if len(votes) >= 2:
            count.shared_count += 1
            count.people.update(votes)
            values[request.question] += votes.values()
    for name, count in counts.items():
        count.values = Counter(values[name])
    return counts


def _figure(data: Mapping[str, Any], name: str, answers: _AnswerCounts) -> AgreementFigure:
    measured: Mapping[str, Any] = data[name]
    if "undefined" in measured or (name not in _OBSERVED_MEASURES and len(answers.values) == 1):
        why = _undefined_reason(data, answers)
        return AgreementFigure(
            None, undefined_reason=why, only_value=answers.only_value() if why == "unanimous" else None
        )
    low, high = measured.get("low"), measured.get("high")
    if low is None:
        return AgreementFigure(
            measured["value"], missing_interval_reason="single" if data["clusters"] < 2 else "resamples"
        )
    return AgreementFigure(measured["value"], low, high)


def _undefined_reason(data: Mapping[str, Any], answers: _AnswerCounts) -> WhyUndefined:
    if data["n"] == 0:
        return "nothing"
    if len(answers.values) == 1:
        return "unanimous"
    return "few" if data.get("complete", 2) < 2 else "alike"
