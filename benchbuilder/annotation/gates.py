"""Applies filter thresholds: whether a judged candidate is kept, and how many would be kept under other thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from benchbuilder.annotation.values import passes_gate
from benchbuilder.config import AnnotationSpec, GuidingQuestion

EVIDENCE_GATE = "min_evidence"

_GateRule = tuple[str, GuidingQuestion | None, float]


@dataclass(frozen=True)
class CandidateDecisions:
    """A candidate with the decisions on its guiding questions and the number of paragraphs that support it."""

    partition: str
    answers: Mapping[str, float] = field(hash=False)
    supporting_paragraphs: int


def gate_names(spec: AnnotationSpec) -> list[str]:
    """The gates in order: gating questions about claims, and the evidence gate.

    The evidence gate takes the position of the first question about evidence, or the last one if there is none.
    """
    orders = [(question.order, name) for name, question in spec.questions_about("claim").items()]
    required = spec.gating_questions("claim")
    evidence = min((question.order for question in spec.questions_about("evidence").values()), default=None)
    place = evidence if evidence is not None else max((order for order, _ in orders), default=0) + 1
    named = [(order, name) for order, name in orders if name in required] + [(place, EVIDENCE_GATE)]
    return [name for _, name in sorted(named)]


def first_failed_gate(
    candidate: CandidateDecisions, spec: AnnotationSpec, minimum: int, ignored_gates: Collection[str] = ()
) -> str | None:
    """The first gate that `candidate` fails if `minimum` supporting paragraphs are required; ``None`` if it is kept.

    With the rule ``two_negatives`` it must fail two.
    """
    return _first_failure(candidate, _gate_rules(spec), minimum, ignored_gates, spec.negatives)


def _gate_rules(spec: AnnotationSpec) -> list[_GateRule]:
    """The gates in order with question and required decision; the evidence gate has neither."""
    required, questions = spec.gating_questions("claim"), spec.questions_about()
    return [
        (gate, None, 0.0) if gate == EVIDENCE_GATE else (gate, questions[gate], required[gate])
        for gate in gate_names(spec)
    ]


def _first_failure(
    candidate: CandidateDecisions, rules: Sequence[_GateRule], minimum: int, ignored_gates: Collection[str], least: int
) -> str | None:
    """The first of the gates that `candidate` fails; ``None`` if these are fewer than `least`."""
    failed = list(islice(_failed_gates(candidate, rules, minimum, ignored_gates), least))
    return failed[0] if len(failed) == least else None


def _failed_gates(
    candidate: CandidateDecisions, rules: Sequence[_GateRule], minimum: int, ignored_gates: Collection[str]
) -> Iterator[str]:
    for gate, question, required in rules:
        enough = candidate.supporting_paragraphs >= minimum
        answer = candidate.answers.get(gate)  # none: the question is about a field that the task lacks
        passed = enough if question is None else answer is None or passes_gate(question, answer, required)
        if not passed and gate not in ignored_gates:
            yield gate


def threshold_table(candidates: Sequence[CandidateDecisions], spec: AnnotationSpec) -> list[dict[str, Any]]:
    """For each threshold: ``min_evidence``, ``kept``, ``by_partition``, and ``without`` (kept if one gate is ignored).

    All partitions are listed, including empty ones. ``without`` has one number per gating question.
    """
    decided, rules = Counter(candidates), _gate_rules(spec)
    partitions = sorted({candidate.partition for candidate in decided})
    questions = [gate for gate in gate_names(spec) if gate != EVIDENCE_GATE]

    def kept(minimum: int, *ignored_gates: str) -> Counter[str]:
        counts = Counter(dict.fromkeys(partitions, 0))
        for candidate, count in decided.items():
            if _first_failure(candidate, rules, minimum, ignored_gates, spec.negatives) is None:
                counts[candidate.partition] += count
        return counts

    return [
        {
            "min_evidence": minimum,
            "kept": kept(minimum).total(),
            "by_partition": dict(kept(minimum)),
            "without": {gate: kept(minimum, gate).total() for gate in questions},
        }
        for minimum in spec.thresholds
    ]


def gate_funnel(candidates: Sequence[CandidateDecisions], spec: AnnotationSpec) -> list[dict[str, Any]]:
    """For each gate in order: ``gate``, how many it ``dropped``, and how many are ``kept`` after it."""
    rules, failed = _gate_rules(spec), Counter[str | None]()
    for candidate, count in Counter(candidates).items():
        failed[_first_failure(candidate, rules, spec.min_evidence, (), spec.negatives)] += count
    kept = len(candidates)
    steps: list[dict[str, Any]] = []
    for gate in gate_names(spec):
        kept -= failed[gate]
        steps.append({"gate": gate, "dropped": failed[gate], "kept": kept})
    return steps
