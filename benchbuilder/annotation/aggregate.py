"""What votes decide: where annotators agree they do, where they are in dispute an adjudicator does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchbuilder.annotation.base import Ballot, Subject, Value, Wanted
from benchbuilder.annotation.tasks import Asked
from benchbuilder.annotation.values import in_dispute, mean
from benchbuilder.config.spec.annotation import GuidingQuestion, JudgingSpec
from benchbuilder.core.stats.agreement.ratings import Level, measure_ratings


@dataclass
class Verdicts:
    """`decided` maps subjects to decisions (texts are not decided); `adjudicated` are those that were in dispute.

    `wanting` maps subjects to how many more annotators have to judge them, `disputed` are those that an adjudicator
    has to decide, both in the order asked. `unneeded` counts decisions of adjudicators on what is not in dispute (by
    now): they decide nothing.
    """

    decided: dict[Subject, float] = field(default_factory=dict[Subject, float])
    adjudicated: set[Subject] = field(default_factory=set[Subject])
    wanting: dict[Subject, int] = field(default_factory=dict[Subject, int])
    disputed: list[Subject] = field(default_factory=list[Subject])
    unneeded: int = 0

    def wanted(self, asked: Mapping[Subject, Asked]) -> Wanted:
        """What people still have to judge."""
        about = {subject: what.about for subject, what in asked.items()}
        return Wanted(self.wanting, tuple(self.disputed), about)


def decide(asked: Mapping[Subject, Asked], ballot: Ballot, judging: JudgingSpec) -> Verdicts:
    """The verdicts of the votes in `ballot`. An adjudicator is asked only after all annotators have judged."""
    verdicts = Verdicts()
    each, questions = judging.votes_each(), judging.asked()
    for subject, what in asked.items():
        given = list(ballot.votes.get(subject, {}).values())
        question = questions[what.question]
        final = ballot.decisions.get(subject)
        if not question.required and not given:
            continue
        if question.required and len(given) < each:
            verdicts.wanting[subject] = each - len(given)
            continue
        if judging.rule == "mean" or not in_dispute(question, given):
            if question.answer != "text":
                verdicts.decided[subject] = mean(question, given)
            verdicts.unneeded += final is not None
        elif final is not None and not isinstance(final[1], str):
            verdicts.decided[subject] = float(final[1])
            verdicts.adjudicated.add(subject)
        else:
            verdicts.disputed.append(subject)
    return verdicts


def agreement(asked: Mapping[Subject, Asked], ballot: Ballot, judging: JudgingSpec) -> dict[str, Any]:
    """For each guiding question that is not a text, how far annotators agree before adjudication; resampled by claim.

    Each has what `ratings.measure_ratings` documents, and on which `scale` it was measured.
    """
    questions = {name: question for name, question in judging.asked().items() if question.answer != "text"}
    clusters: dict[str, dict[str, list[Mapping[str, Value]]]] = {name: {} for name in questions}
    for subject, what in asked.items():
        votes = ballot.votes.get(subject, {})
        if what.question in questions and len(votes) >= 2:
            clusters[what.question].setdefault(what.claim, []).append(votes)
    return {name: _measured(questions[name], list(by_claim.values()), judging) for name, by_claim in clusters.items()}


_LEVELS: Mapping[str, Level] = {"binary": "nominal", "scale": "ordinal", "scalar": "interval"}


def _measured(question: GuidingQuestion, clusters: list[list[Mapping[str, Value]]], judging: JudgingSpec) -> Any:
    draw, scale = judging.bootstrap, _LEVELS[question.answer]
    found = measure_ratings(
        clusters, level=scale, samples=draw.samples, confidence_level=draw.level, seed=draw.seed,
        tolerance=question.tolerance if scale == "interval" else None,
        categories=(0, 1) if scale == "nominal" else (),
    )  # fmt: skip
    return {"scale": scale, **found}


def count_missing(wanted: Wanted, annotators: str, adjudicator: str) -> dict[str, int]:
    """How many judgements are missing by ``WHO: claim`` and ``WHO: evidence``, annotators taken together."""
    counts = Counter[str]()
    for subject, n in wanted.votes.items():
        counts[f"{annotators}: {wanted.about[subject]}"] += n
    for subject in wanted.decisions:
        counts[f"{adjudicator}: {wanted.about[subject]}"] += 1
    return dict(counts)


def overrides(question: GuidingQuestion, value: Value, given: Sequence[Value | None]) -> bool:
    """Whether a decision goes against every judge: none gave it, or it lies outside of the range of their scalars.

    >>> grade = GuidingQuestion(order=1, subject="claim", label="a", text="b", answer="scalar")
    >>> overrides(grade, 0.6, (0.2, 0.9)), overrides(grade, 0.1, (0.2, 0.9))
    (False, True)
    """
    numbers = [float(each) for each in given if each is not None and not isinstance(each, str)]
    if isinstance(value, str) or not numbers:
        return True
    if question.answer == "scalar":
        return not min(numbers) - 1e-9 <= value <= max(numbers) + 1e-9
    return float(value) not in numbers
