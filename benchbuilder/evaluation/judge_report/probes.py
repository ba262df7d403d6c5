"""Probes: pairs of cases that differ in one thing, to measure how a judge reacts to it."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchbuilder.core import convert_script, edit_distance
from benchbuilder.evaluation.judge_report import probe_spec as spec
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.steps import count_negations, without_negations

_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


@dataclass(frozen=True, slots=True)
class ProbePair:
    """A case before and after the change; pairs of one `family` form a cluster in intervals."""

    before: Case
    after: Case
    family: str


def probe_pairs(
    probe: spec.Probe, held_out: Sequence[Example], file: spec.ProbesSpec, threshold: float, seed: int
) -> list[ProbePair]:
    """Apply a probe to the held-out examples: at most `file.cases` pairs, the same for the same seed.

    Answers without text are left out, and so are cases that the change does not affect. Changes that leave the case as
    it is (``repeat``, ``length_partial``) give pairs of equal cases.
    """
    pairs: list[ProbePair] = []
    for example in _eligible_examples(probe, held_out, threshold, seed):
        rng = random.Random(f"{seed}:{probe.by.change}:{example.item}:{example.model}:{example.case.answer}")
        pair = _changed_case(probe.by, example, held_out, file, rng)
        if pair is not None:
            pairs.append(pair)
        if len(pairs) == file.cases:
            break
    return pairs


def _eligible_examples(probe: spec.Probe, held_out: Sequence[Example], threshold: float, seed: int) -> list[Example]:
    """The examples that the probe applies to, in an order that depends on the seed alone.

    Each case occurs once; for false statements, each pair of statements occurs once.
    """
    by_statements = isinstance(probe.by, spec.FalseStatementChange)
    unique: dict[object, Example] = {}
    for example in sorted(held_out, key=lambda e: _rank(f"{seed}:{e.item}:{e.model}:{e.case.answer}")):
        wanted = by_statements or probe.of == "all" or (example.target >= threshold) == (probe.of == "good")
        if wanted and example.case.answer.strip():
            case = example.case
            unique.setdefault((case.right, case.wrong) if by_statements else case, example)
    return list(unique.values())


def _rank(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _changed_case(
    change: Any, example: Example, held_out: Sequence[Example], file: spec.ProbesSpec, rng: random.Random
) -> ProbePair | None:
    case = example.case
    if isinstance(change, spec.FalseStatementChange):
        return _false_statement(change, example, file)
    if isinstance(change, spec.EvidenceChange):
        evidence = _evidence(change, example, held_out, rng)
        return None if evidence is None else ProbePair(case, replace(case, evidence=evidence), example.family)
    if isinstance(change, spec.RepeatChange | spec.LengthPartialChange):
        return ProbePair(case, case, example.family)
    answer = _changed_answer(change, case.answer, rng)
    return None if answer == case.answer else ProbePair(case, replace(case, answer=answer), example.family)


def _false_statement(change: spec.FalseStatementChange, example: Example, file: spec.ProbesSpec) -> ProbePair | None:
    case = example.case
    if not case.right or not case.wrong or case.right == case.wrong:
        return None
    if _negated(case, file) != (change.by == "negation"):
        return None
    return ProbePair(replace(case, answer=case.right), replace(case, answer=case.wrong), example.family)


def _negated(case: Case, file: spec.ProbesSpec) -> bool:
    """Whether one statement negates the other: an odd difference in negations, and nearly equal otherwise."""
    counts = [count_negations(text, file.negations, file.harmless) for text in (case.right, case.wrong)]
    if (counts[0] - counts[1]) % 2 == 0:
        return False
    right, wrong = (without_negations(text, file.negations, file.harmless) for text in (case.right, case.wrong))
    return edit_distance(right, wrong) <= file.negation_edits


def _evidence(
    change: spec.EvidenceChange, example: Example, held_out: Sequence[Example], rng: random.Random
) -> tuple[str, ...] | None:
    """The paragraphs after the change; ``None`` if there is nothing to change."""
    known = example.case.evidence
    if not known:
        return None
    if change.change == "evidence_dropped":
        return ()
    if change.change == "evidence_swapped":
        others = sorted({e.case.evidence for e in held_out if e.family != example.family and e.case.evidence})
        strange = [other for other in others if not set(other) & set(known)]
        return rng.choice(strange) if strange else None
    if len(set(known)) < 2:
        return None
    shuffled = list(known)
    while tuple(shuffled) == known:
        rng.shuffle(shuffled)
    return tuple(shuffled)


def _changed_answer(change: Any, answer: str, rng: random.Random) -> str:
    match change:
        case spec.TextChange(change="prepend"):
            return rng.choice(change.texts) + answer
        case spec.TextChange():
            text = rng.choice(change.texts).replace("{answer}", answer)
            return answer + text if change.change == "append" else text
        case spec.LinesChange():
            sentences = re.split(f"(?<=[{re.escape(change.ends)}])", answer)
            return "\n".join(change.bullet + sentence.strip() for sentence in sentences if sentence.strip())
        case spec.WordsChange():
            longest = sorted(change.words, key=len, reverse=True)
            return re.sub("|".join(map(re.escape, longest)), lambda found: change.words[found[0]], answer)
        case spec.ScriptChange():
            return convert_script(answer, change.conversion)
        case _:
            return answer.translate(_WIDE)
