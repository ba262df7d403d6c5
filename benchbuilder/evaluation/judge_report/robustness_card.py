"""The robustness card of a judge: the effect of each probe on its scores, and a verdict."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, convert_script, edit_distance
from benchbuilder.evaluation.judge_report.held_out import JudgeReportFrame
from benchbuilder.evaluation.judge_report.probe_spec import (
    EvidenceChange,
    FalseStatementChange,
    LengthPartialChange,
    LinesChange,
    Probe,
    ProbeLimits,
    ProbesSpec,
    RepeatChange,
    ScriptChange,
    TextChange,
    WordsChange,
)
from benchbuilder.evaluation.judges.base import Case, Example, ScoringJudge
from benchbuilder.evaluation.results.context import BootstrapSettings, table_line
from benchbuilder.evaluation.stats.agreement import LEAST_SD, check_constant_predictor, partial_correlation_statistic
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimate, mean_estimate
from benchbuilder.exporters import ResultTable, TableLine
from benchbuilder.steps import count_negations, without_negations

ProbeVerdict = Literal["pass", "warn", "fail", "open"]
OpenReason = Literal["", "none", "few", "unread", "aspect", "undefined", "constant"]


@dataclass(frozen=True)
class ProbeFinding:
    """The result of a probe.

    `delta` is the mean of the score after the change minus the score before. `flips` is the proportion of cases whose
    score crossed the threshold: for ``no_rise`` only upwards, for ``fall`` only downwards and of those above it.

    `why` explains an ``open`` verdict:

    - ``none``: the probe applies to no case
    - ``few``: it applies to too few cases
    - ``unread``: the judge receives no paragraphs
    - ``aspect``: the aspect does not depend on truth
    - ``undefined``: scores that do not vary have no correlation
    - ``constant``: the judge gives nearly every answer the same score, so an unchanged score proves nothing
    """

    name: str
    probe: Probe
    verdict: ProbeVerdict
    delta: Estimate
    flips: Estimate
    why: OpenReason = ""


def probe_findings(
    judge: ScoringJudge, held_out: Sequence[Example], file: ProbesSpec, bootstrap: BootstrapSettings, *,
    threshold: float, statements: bool,
) -> list[ProbeFinding]:  # fmt: skip
    """Apply each probe of `file` to an open judge that was not trained on the examples, whatever their order.

    Scores at or above the `threshold` count as good. `statements` says whether the aspect depends on truth. If so, the
    items' true and false statements are probed too, as good and bad answers. Otherwise probes that make a statement
    false do not apply.
    """
    rated = sorted((e for e in held_out if not e.synthetic), key=lambda e: (e.item, e.model, e.case.answer))
    examples = [*rated, *_statements(rated)] if statements else rated
    caching = _CachingJudge(judge)
    run = _ProbeRun(caching, examples, file, bootstrap, threshold, statements, _constant(caching, rated or examples))
    return [_finding(name, probe, run) for name, probe in file.probes.items() if probe is not None]


def _statements(examples: Sequence[Example]) -> list[Example]:
    """The right and the wrong statement of each item, as answers to it."""
    items = {example.item: example for example in examples}
    return [
        replace(example, case=replace(example.case, answer=text), target=target, model="", ratings=())
        for example in items.values()
        for text, target in ((example.case.right, 1.0), (example.case.wrong, 0.0))
    ]


def _constant(judge: _CachingJudge, examples: Sequence[Example]) -> bool:
    """Whether the judge (not the people) gives nearly all answers the same score."""
    scores = judge.score([example.case for example in examples])
    warning = check_constant_predictor(scores, [example.target for example in examples])
    return warning is not None and warning.sd < LEAST_SD


def verdict_counts(findings: Sequence[ProbeFinding]) -> dict[ProbeVerdict, int]:
    """The number of probes per verdict."""
    order: tuple[ProbeVerdict, ...] = ("pass", "warn", "fail", "open")
    return {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in order}


class _CachingJudge:
    """A judge that scores each unchanged case only once."""

    def __init__(self, judge: ScoringJudge) -> None:
        self.judge = judge
        self._known: dict[Case, float] = {}

    def score(self, cases: Sequence[Case]) -> Floats:
        new = [case for case in dict.fromkeys(cases) if case not in self._known]
        self._known.update(zip(new, self.judge.score(new) if new else (), strict=True))
        return np.array([self._known[case] for case in cases])

    def repeated_spread(self, cases: Sequence[Case], runs: int) -> Floats:
        """The largest difference of each case's scores over `runs` more runs, alone each time."""
        scores = [self.score(cases)]
        scores += [np.array([self.judge.score([case])[0] for case in cases]) for _ in range(runs)]
        return np.ptp(np.stack(scores), axis=0)


@dataclass(frozen=True)
class _ProbeRun:
    """A judge, the examples, and how its scores are assessed."""

    judge: _CachingJudge
    examples: Sequence[Example]
    file: ProbesSpec
    bootstrap: BootstrapSettings
    threshold: float
    statements: bool
    constant: bool


def _finding(name: str, probe: Probe, run: _ProbeRun) -> ProbeFinding:
    delta = flips = Estimate(None, None, None, 0, 0)
    why: OpenReason = ""
    if isinstance(probe.by, EvidenceChange) and not run.judge.judge.spec.evidence:
        why = "unread"
    elif _depends_on_truth(probe) and not run.statements:
        why = "aspect"
    else:
        delta, flips = _effect(probe, run, flips)
        if run.constant and probe.expect != "fall":
            why = "constant"
        elif delta.value is None:
            why = "undefined" if delta.n else "none"
        elif delta.n < run.file.min_cases:
            why = "few"
    return ProbeFinding(name, probe, "open" if why else _verdict(probe, delta, flips), delta, flips, why)


def _effect(probe: Probe, run: _ProbeRun, nothing: Estimate) -> tuple[Estimate, Estimate]:
    """The mean change of the score, and the rate of flips."""
    if isinstance(probe.by, LengthPartialChange):
        return _length(run), nothing
    pairs = probe_pairs(probe, run.examples, run.file, run.threshold, run.bootstrap["seed"])
    before, change = _change(probe, run.judge, pairs)
    flipped, could = _flipped(probe, before, before + change, run.threshold)
    able = [pair.family for pair, counts in zip(pairs, could, strict=True) if counts]
    delta = mean_estimate(change, [pair.family for pair in pairs], **run.bootstrap)
    return delta, mean_estimate(flipped[could], able, **run.bootstrap)


def _depends_on_truth(probe: Probe) -> bool:
    """Whether the probe makes a statement false or removes its support, which matters only if truth does."""
    return isinstance(probe.by, FalseStatementChange) or (
        isinstance(probe.by, EvidenceChange) and probe.by.change == "evidence_swapped"
    )


def _change(probe: Probe, judge: _CachingJudge, pairs: Sequence[ProbePair]) -> tuple[Floats, Floats]:
    """The scores before, and what is added to them after."""
    before = judge.score([pair.before for pair in pairs])
    if isinstance(probe.by, RepeatChange):
        return before, judge.repeated_spread([pair.before for pair in pairs], probe.by.runs) if pairs else before
    return before, judge.score([pair.after for pair in pairs]) - before


def _flipped(probe: Probe, before: Floats, after: Floats, threshold: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Whether each case crossed the threshold (in the direction that matters), and which cases could."""
    was, became = before >= threshold, after >= threshold
    if probe.expect == "no_rise":
        return (~was & became).astype(np.float64), ~was
    if probe.expect == "fall":
        return (was & ~became).astype(np.float64), was
    return (was != became).astype(np.float64), np.ones(len(before), np.bool_)


def _length(run: _ProbeRun) -> Estimate:
    rated = [example for example in run.examples if not example.synthetic and example.case.answer.strip()]
    lengths = np.log1p([len(example.case.answer) for example in rated])
    scores, targets = run.judge.score([e.case for e in rated]), np.array([example.target for example in rated])
    statistic = partial_correlation_statistic(scores, lengths, targets)
    return bootstrap_estimate(statistic, [example.family for example in rated], **run.bootstrap)


def _verdict(probe: Probe, delta: Estimate, flips: Estimate) -> ProbeVerdict:
    verdicts = [probe_verdict(probe, delta, probe.delta)]
    if probe.flip is not None and flips.value is not None:
        verdicts.append(probe_verdict(probe, flips, probe.flip, flip_rate=True))
    return next(verdict for verdict in ("fail", "warn", "pass") if verdict in verdicts)


def probe_verdict(probe: Probe, estimate: Estimate, limits: ProbeLimits, *, flip_rate: bool = False) -> ProbeVerdict:
    """The verdict on a mean change, or on a rate of flips (`flip_rate`), that takes its interval into account.

    It is ``pass`` if the value is within `warn` and the interval within `fail`, and ``fail`` if the value is beyond
    `fail` and the whole interval beyond `warn`: chance cannot explain that. Everything else is ``warn``. Without a
    limit `fail` nothing fails; then, if the score must fall, the interval must exclude zero for a pass.
    """
    assert estimate.value is not None
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    if probe.expect == "fall":
        worst, value, best = (low, estimate.value, high) if flip_rate else (-high, -estimate.value, -low)
        fine = value >= limits.warn and worst >= (limits.fail or 0.0)
        bad = limits.fail is not None and value < limits.fail and best < limits.warn
    else:
        if probe.expect == "same":
            best, value, worst = max(low, -high, 0.0), abs(estimate.value), max(abs(low), abs(high))
        else:
            best, value, worst = low, estimate.value, high
        fine = value <= limits.warn and (limits.fail is None or worst <= limits.fail)
        bad = limits.fail is not None and value > limits.fail and best > limits.warn
    return "pass" if fine else "fail" if bad else "warn"


_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


@dataclass(frozen=True, slots=True)
class ProbePair:
    """A case before and after the change; pairs of one `family` form a cluster in intervals."""

    before: Case
    after: Case
    family: str


def probe_pairs(
    probe: Probe, held_out: Sequence[Example], file: ProbesSpec, threshold: float, seed: int
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


def _eligible_examples(probe: Probe, held_out: Sequence[Example], threshold: float, seed: int) -> list[Example]:
    """The examples that the probe applies to, in an order that depends on the seed alone.

    Each case occurs once; for false statements, each pair of statements occurs once.
    """
    by_statements = isinstance(probe.by, FalseStatementChange)
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
    change: Any, example: Example, held_out: Sequence[Example], file: ProbesSpec, rng: random.Random
) -> ProbePair | None:
    case = example.case
    if isinstance(change, FalseStatementChange):
        return _false_statement(change, example, file)
    if isinstance(change, EvidenceChange):
        evidence = _evidence(change, example, held_out, rng)
        return None if evidence is None else ProbePair(case, replace(case, evidence=evidence), example.family)
    if isinstance(change, RepeatChange | LengthPartialChange):
        return ProbePair(case, case, example.family)
    answer = _changed_answer(change, case.answer, rng)
    return None if answer == case.answer else ProbePair(case, replace(case, answer=answer), example.family)


def _false_statement(change: FalseStatementChange, example: Example, file: ProbesSpec) -> ProbePair | None:
    case = example.case
    if not case.right or not case.wrong or case.right == case.wrong:
        return None
    if _negated(case, file) != (change.by == "negation"):
        return None
    return ProbePair(replace(case, answer=case.right), replace(case, answer=case.wrong), example.family)


def _negated(case: Case, file: ProbesSpec) -> bool:
    """Whether one statement negates the other: an odd difference in negations, and nearly equal otherwise."""
    counts = [count_negations(text, file.negations, file.harmless) for text in (case.right, case.wrong)]
    if (counts[0] - counts[1]) % 2 == 0:
        return False
    right, wrong = (without_negations(text, file.negations, file.harmless) for text in (case.right, case.wrong))
    return edit_distance(right, wrong) <= file.negation_edits


def _evidence(
    change: EvidenceChange, example: Example, held_out: Sequence[Example], rng: random.Random
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
        case TextChange(change="prepend"):
            return rng.choice(change.texts) + answer
        case TextChange():
            text = rng.choice(change.texts).replace("{answer}", answer)
            return answer + text if change.change == "append" else text
        case LinesChange():
            sentences = re.split(f"(?<=[{re.escape(change.ends)}])", answer)
            return "\n".join(change.bullet + sentence.strip() for sentence in sentences if sentence.strip())
        case WordsChange():
            longest = sorted(change.words, key=len, reverse=True)
            return re.sub("|".join(map(re.escape, longest)), lambda found: change.words[found[0]], answer)
        case ScriptChange():
            return convert_script(answer, change.conversion)
        case _:
            return answer.translate(_WIDE)


def robustness_table(frame: JudgeReportFrame, aspect: str, cards: Mapping[str, Sequence[ProbeFinding]]) -> ResultTable:
    """Every probe of every judge: mean change, flips, expected effect, and verdict."""
    lines = [_line(frame, judge, finding) for judge, findings in cards.items() for finding in findings]
    columns = "judge group probe verdict expected n delta flips limits"
    return frame.table(aspect, "robustness", columns, lines, keys=3)


def _line(frame: JudgeReportFrame, judge: str, finding: ProbeFinding) -> TableLine:
    t, probe = frame.t, finding.probe
    delta = frame.cell(finding.delta)
    if finding.why:
        delta = replace(delta, why=t(f"judges.open.{finding.why}"))
    return table_line(
        judge, t.get(f"judges.group.{probe.group}", probe.group), probe_label(frame, finding),
        t(f"judges.verdict.{finding.verdict}"), t(f"judges.expect.{probe.expect}"), finding.delta.n, delta,
        frame.cell(finding.flips), _limits(frame, finding), group=finding.verdict,
    )  # fmt: skip


def probe_label(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The label of a probe in the language of the report, else in any language, else its name."""
    labels = finding.probe.label
    return labels.get(frame.t.language) or next(iter(labels.values()), finding.name)


def probe_meaning(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    """The description of a probe in the language of the report, or any other."""
    meanings = finding.probe.meaning
    return meanings.get(frame.t.language) or next(iter(meanings.values()), "")


def _limits(frame: JudgeReportFrame, finding: ProbeFinding) -> str:
    probe = finding.probe
    parts = [frame.t("judges.limits.delta", limits=_pair(probe.delta))]
    if probe.flip is not None:
        parts.append(frame.t("judges.limits.flip", limits=_pair(probe.flip)))
    return "; ".join(parts)


def _pair(limits: ProbeLimits) -> str:
    return f"{limits.warn:g}" if limits.fail is None else f"{limits.warn:g} / {limits.fail:g}"
