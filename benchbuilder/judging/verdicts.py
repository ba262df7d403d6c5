"""What votes decide: where two annotators agree they do, where they differ the adjudicator does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchbuilder.agreement.measures import measure
from benchbuilder.judging.shown import Asked
from benchbuilder.ports.votes import Subject
from benchbuilder.spec.judging import JudgingSpec

Cast = Mapping[Subject, Mapping[str, int]]


@dataclass
class Verdicts:
    """`decided` maps subjects to 0 or 1; `adjudicated` are those on which the annotators differed.

    `missing` maps each person to what they still have to judge, in the order asked; people who are done are absent.
    `unneeded` counts votes of the adjudicator on which the annotators agree (by now): they decide nothing.
    """

    decided: dict[Subject, int] = field(default_factory=dict[Subject, int])
    adjudicated: set[Subject] = field(default_factory=set[Subject])
    missing: dict[str, list[Subject]] = field(default_factory=dict[str, list[Subject]])
    unneeded: int = 0


def decide(asked: Iterable[Subject], cast: Cast, judging: JudgingSpec) -> Verdicts:
    """The verdicts of the votes `cast`. The adjudicator is asked only after both annotators have judged."""
    verdicts = Verdicts()
    missing: dict[str, list[Subject]] = {person: [] for person in judging.people()}
    for subject in asked:
        votes = cast.get(subject, {})
        absent = [person for person in judging.annotators if person not in votes]
        given = [votes[person] for person in judging.annotators if person in votes]
        split = len(set(given)) == 2
        final = votes.get(judging.adjudicator)
        for person in absent:
            missing[person].append(subject)
        if final is not None and not absent and not split:
            verdicts.unneeded += 1
        if absent:
            continue
        if not split:
            verdicts.decided[subject] = given[0]
        elif final is not None:
            verdicts.decided[subject] = final
            verdicts.adjudicated.add(subject)
        else:
            missing[judging.adjudicator].append(subject)
    verdicts.missing = {person: subjects for person, subjects in missing.items() if subjects}
    return verdicts


def count_missing(verdicts: Verdicts, asked: Mapping[Subject, Asked]) -> dict[str, int]:
    """How many judgements are missing by ``PERSON: claim`` and ``PERSON: evidence``."""
    return dict(
        Counter(
            f"{person}: {asked[subject].about}" for person, subjects in verdicts.missing.items() for subject in subjects
        )
    )


def agreement(asked: Mapping[Subject, Asked], cast: Cast, judging: JudgingSpec) -> dict[str, Any]:
    """For each guiding question how far the annotators agree, before adjudication; resampled by claim."""
    first, second = judging.annotators
    clusters: dict[str, dict[str, list[tuple[int, int]]]] = {name: {} for name in judging.asked()}
    for subject, what in asked.items():
        votes = cast.get(subject, {})
        if first in votes and second in votes:
            clusters[what.question].setdefault(what.claim, []).append((votes[first], votes[second]))
    draw = judging.bootstrap
    return {
        name: measure(
            list(by_claim.values()), categories=2, samples=draw.samples, level=draw.level, seed=draw.seed
        )
        for name, by_claim in clusters.items()
    }  # fmt: skip
