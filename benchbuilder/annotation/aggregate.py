"""What votes decide: where annotators agree they do, where they are in dispute an adjudicator does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchbuilder.annotation.base import MissingJudgements, Subject, Value, Votes
from benchbuilder.annotation.tasks import JudgementRequest
from benchbuilder.annotation.values import aggregate_value, is_disputed
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import RatingLevel
from benchbuilder.core import measure_agreement as agreement_measures


@dataclass
class AggregatedLabels:
    """`values` maps subjects to decisions (texts are not decided); `adjudicated_subjects` are those that were in dispute.

    `missing_votes` maps subjects to how many more annotators have to judge them, `disputed_subjects` are those that an adjudicator
    has to decide, both in the order asked. `unneeded_decisions` counts decisions of adjudicators on what is not in dispute (by
    now): they decide nothing.
    """

    values: dict[Subject, float] = field(default_factory=dict[Subject, float])
    adjudicated_subjects: set[Subject] = field(default_factory=set[Subject])
    missing_votes: dict[Subject, int] = field(default_factory=dict[Subject, int])
    disputed_subjects: list[Subject] = field(default_factory=list[Subject])
    unneeded_decisions: int = 0

    def missing(self, requests: Mapping[Subject, JudgementRequest]) -> MissingJudgements:
        """What people still have to judge."""
        about = {subject: what.subject_kind for subject, what in requests.items()}
        return MissingJudgements(self.missing_votes, tuple(self.disputed_subjects), about)


def aggregate_votes(
    requests: Mapping[Subject, JudgementRequest], votes: Votes, spec: AnnotationSpec
) -> AggregatedLabels:
    """The verdicts of the votes in `ballot`. An adjudicator is asked only after all annotators have judged."""
    verdicts = AggregatedLabels()
    each, questions = spec.votes_per_task(), spec.questions_about()
    for subject, what in requests.items():
        given = list(votes.by_subject.get(subject, {}).values())
        question = questions[what.question]
        final = votes.decisions.get(subject)
        if not question.required and not given:
            continue
        if question.required and len(given) < each:
            verdicts.missing_votes[subject] = each - len(given)
            continue
        if spec.rule == "mean" or not is_disputed(question, given):
            if question.answer != "text":
                verdicts.values[subject] = aggregate_value(question, given)
            verdicts.unneeded_decisions += final is not None
        elif final is not None and not isinstance(final[1], str):
            verdicts.values[subject] = float(final[1])
            verdicts.adjudicated_subjects.add(subject)
        else:
            verdicts.disputed_subjects.append(subject)
    return verdicts


def measure_agreement(
    requests: Mapping[Subject, JudgementRequest], current_votes: Votes, spec: AnnotationSpec
) -> dict[str, Any]:
    """For each guiding question that is not a text, how far annotators agree before adjudication; resampled by claim.

    Each has what `ratings.measure_agreement` documents, and on which `scale` it was measured.
    """
    questions = {name: question for name, question in spec.questions_about().items() if question.answer != "text"}
    clusters: dict[str, dict[str, list[Mapping[str, Value]]]] = {name: {} for name in questions}
    for subject, what in requests.items():
        votes = current_votes.by_subject.get(subject, {})
        if what.question in questions and len(votes) >= 2:
            clusters[what.question].setdefault(what.task_key, []).append(votes)
    return {
        name: _measure_question(questions[name], list(by_claim.values()), spec) for name, by_claim in clusters.items()
    }


_LEVELS: Mapping[str, RatingLevel] = {"binary": "nominal", "scale": "ordinal", "scalar": "interval"}


def _measure_question(
    question: GuidingQuestion, clusters: list[list[Mapping[str, Value]]], spec: AnnotationSpec
) -> Any:
    draw, scale = spec.bootstrap, _LEVELS[question.answer]
    found = agreement_measures(
        clusters, level=scale, samples=draw.samples, confidence_level=draw.level, seed=draw.seed,
        tolerance=question.tolerance if scale == "interval" else None,
        categories=(0, 1) if scale == "nominal" else (),
    )  # fmt: skip
    return {"scale": scale, **found}


def count_missing(missing: MissingJudgements, annotators: str, adjudicator: str) -> dict[str, int]:
    """How many judgements are missing by ``WHO: claim`` and ``WHO: evidence``, annotators taken together."""
    counts = Counter[str]()
    for subject, n in missing.votes.items():
        counts[f"{annotators}: {missing.subject_kinds[subject]}"] += n
    for subject in missing.decisions:
        counts[f"{adjudicator}: {missing.subject_kinds[subject]}"] += 1
    return dict(counts)


def overrides_annotators(question: GuidingQuestion, value: Value, answers: Sequence[Value | None]) -> bool:
    """Whether a decision goes against every judge: none gave it, or it lies outside of the range of their scalars.

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
