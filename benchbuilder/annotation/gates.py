"""Gates: whether a judged candidate stays, and how many would stay under other thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.values import passes
from benchbuilder.config.spec.annotation import GuidingQuestion, JudgingSpec

EVIDENCE_GATE = "min_evidence"

_Wanted = tuple[str, GuidingQuestion | None, float]


@dataclass(frozen=True)
class Judged:
    """A candidate with the decisions on its guiding questions and the number of paragraphs that support it."""

    partition: str
    answers: Mapping[str, float]
    supporting: int


def gates(judging: JudgingSpec) -> list[str]:
    """The gates in their order: gating questions about claims, and the evidence gate in its place.

    The evidence gate stands where the first question about evidence stands, last if none is asked.
    """
    orders = [(question.order, name) for name, question in judging.asked("claim").items()]
    required = judging.required("claim")
    evidence = min((question.order for question in judging.asked("evidence").values()), default=None)
    place = evidence if evidence is not None else max((order for order, _ in orders), default=0) + 1
    named = [(order, name) for order, name in orders if name in required] + [(place, EVIDENCE_GATE)]
    return [name for _, name in sorted(named)]


def first_failed(judged: Judged, judging: JudgingSpec, minimum: int, without: Collection[str] = ()) -> str | None:
    """The first gate that `judged` fails with `minimum` supporting paragraphs required; ``None`` if it stays."""
    return next(_failed(judged, _wanted(judging), minimum, without), None)


def _wanted(judging: JudgingSpec) -> list[_Wanted]:
    """The gates in their order, each with its question and the decision that keeps; of the evidence gate neither."""
    required, asked = judging.required("claim"), judging.asked()
    return [
        (gate, None, 0.0) if gate == EVIDENCE_GATE else (gate, asked[gate], required[gate]) for gate in gates(judging)
    ]


def _failed(judged: Judged, wanted: Sequence[_Wanted], minimum: int, without: Collection[str]) -> Iterator[str]:
    for gate, question, required in wanted:
        enough = judged.supporting >= minimum
        passed = enough if question is None else passes(question, judged.answers[gate], required)
        if not passed and gate not in without:
            yield gate


def survivors(candidates: Sequence[Judged], judging: JudgingSpec) -> list[dict[str, Any]]:
    """For each threshold: ``min_evidence``, ``kept``, ``by_partition`` and ``without`` (kept if one gate were not).

    Partitions are all there, those with none left too. `without` has one number for each gating question.
    """
    table: list[dict[str, Any]] = []
    questions = [gate for gate in gates(judging) if gate != EVIDENCE_GATE]
    partitions, wanted = sorted({judged.partition for judged in candidates}), _wanted(judging)
    for minimum in judging.thresholds:
        stay = Counter(j.partition for j in candidates if next(_failed(j, wanted, minimum, ()), None) is None)
        table.append(
            {
                "min_evidence": minimum,
                "kept": stay.total(),
                "by_partition": {partition: stay[partition] for partition in partitions},
                "without": {
                    gate: sum(next(_failed(j, wanted, minimum, (gate,)), None) is None for j in candidates)
                    for gate in questions
                },
            }
        )
    return table


def funnel(candidates: Sequence[Judged], judging: JudgingSpec) -> list[dict[str, Any]]:
    """For each gate in order: ``gate``, ``dropped`` there, and ``kept`` after it."""
    wanted = _wanted(judging)
    failed = Counter(next(_failed(judged, wanted, judging.min_evidence, ()), None) for judged in candidates)
    kept = len(candidates)
    steps: list[dict[str, Any]] = []
    for gate in gates(judging):
        kept -= failed[gate]
        steps.append({"gate": gate, "dropped": failed[gate], "kept": kept})
    return steps
