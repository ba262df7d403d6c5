"""The bias card of a judge: what each probe did to its scores, and whether that is sound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config.spec.annotation import BootstrapSpec
from benchbuilder.core.stats.constant_predictor import LEAST_SD, constant_predictor
from benchbuilder.core.stats.correlation import of_partial
from benchbuilder.core.stats.intervals import Estimate, estimate, mean_estimate
from benchbuilder.evaluation.judge_report.probe_spec import (
    Evidence,
    FalseStatement,
    LengthPartial,
    Limits,
    Probe,
    ProbesSpec,
    Repeat,
)
from benchbuilder.evaluation.judge_report.probes import Pair, pairs
from benchbuilder.evaluation.judges.base import Case, Example, ScoringJudge

Verdict = Literal["pass", "warn", "fail", "open"]
Why = Literal["", "none", "few", "unread", "aspect", "undefined", "constant"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Finding:
    """What a probe found. `why` says why a verdict is ``open``: there is no case that it applies to (``none``), there
    are too ``few``, the judge is given no paragraphs (``unread``), its aspect hangs on no truth (``aspect``), the
    change is ``undefined`` (scores that do not vary have no correlation), or the judge is ``constant``: it gives nearly
    every answer the same score, and what need not change its score says nothing of it.

    `delta` is the mean of the score after less the score before, `flips` the share of cases whose score changed sides
    of the threshold: for ``no_rise`` upward only, for ``fall`` downward, of those that stood above.
    """

    name: str
    probe: Probe
    verdict: Verdict
    delta: Estimate
    flips: Estimate
    why: Why = ""


def bias_card(
    judge: ScoringJudge, held_out: Sequence[Example], file: ProbesSpec, bootstrap: BootstrapSpec, *,
    threshold: float, statements: bool,
) -> list[Finding]:  # fmt: skip
    """The finding of each probe of `file`, in its order. `judge` is open and has not seen the examples.

    `statements` says whether the aspect hangs on the truth: then the items' true and false statements are put to the
    probes as good and bad answers, too, and only then those that make a statement false apply. The same judge and
    examples give the same card, in whatever order the examples stand.
    """
    told = [example for example in held_out if not example.synthetic]
    known = sorted(told, key=lambda e: (e.item, e.model, e.case.answer))
    put = [*known, *_statements(known)] if statements else known
    memory = _Memory(judge)
    trial = _Trial(memory, put, file, bootstrap, threshold, statements, _constant(memory, known or put))
    return [_finding(name, probe, trial) for name, probe in file.probes.items() if probe is not None]


def _statements(examples: Sequence[Example]) -> list[Example]:
    """The right and the wrong statement of each item as answers to it."""
    items = {example.item: example for example in examples}
    made: list[Example] = []
    for example in items.values():
        for text, target in ((example.case.right, 1.0), (example.case.wrong, 0.0)):
            case = replace(example.case, answer=text)
            made.append(replace(example, case=case, target=target, model="", ratings=()))
    return made


def _constant(memory: _Memory, examples: Sequence[Example]) -> bool:
    """Whether the judge gives nearly all of the answers the same score (not: whether people did)."""
    scores = memory.score([example.case for example in examples])
    alarm = constant_predictor(scores, [example.target for example in examples])
    return alarm is not None and alarm.sd < LEAST_SD


def summary(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """How many probes ended how."""
    order: tuple[Verdict, ...] = ("pass", "warn", "fail", "open")
    return {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in order}


class _Memory:
    """A judge that scores the cases that stand before every change once."""

    def __init__(self, judge: ScoringJudge) -> None:
        self.judge = judge
        self._known: dict[Case, float] = {}

    def score(self, cases: Sequence[Case]) -> Floats:
        new = [case for case in dict.fromkeys(cases) if case not in self._known]
        self._known.update(zip(new, self.judge.score(new) if new else (), strict=True))
        return np.array([self._known[case] for case in cases])

    def again(self, cases: Sequence[Case], runs: int) -> Floats:
        """The largest difference of each case's scores over `runs` more runs, alone each time."""
        scores = [self.score(cases)]
        scores += [np.array([self.judge.score([case])[0] for case in cases]) for _ in range(runs)]
        return np.ptp(np.stack(scores), axis=0)


@dataclass(frozen=True)
class _Trial:
    """A judge with what it is asked and how the outcome is weighed."""

    memory: _Memory
    examples: Sequence[Example]
    file: ProbesSpec
    bootstrap: BootstrapSpec
    threshold: float
    statements: bool
    constant: bool


def _finding(name: str, probe: Probe, trial: _Trial) -> Finding:
    nothing = Estimate(None, None, None, 0, 0)
    if isinstance(probe.by, Evidence) and not trial.memory.judge.spec.evidence:
        return Finding(name, probe, "open", nothing, nothing, "unread")
    if _on_truth(probe) and not trial.statements:
        return Finding(name, probe, "open", nothing, nothing, "aspect")
    if isinstance(probe.by, LengthPartial):
        rated = [example for example in trial.examples if not example.synthetic and example.case.answer.strip()]
        delta, flips = _length(trial.memory, rated, trial.bootstrap), nothing
    else:
        found = pairs(probe, trial.examples, trial.file, trial.threshold, trial.bootstrap.seed)
        before, change = _change(probe, trial.memory, found)
        turned, could = _turned(probe, before, before + change, trial.threshold)
        able = [pair for pair, counts in zip(found, could, strict=True) if counts]
        delta, flips = _mean(change, found, trial.bootstrap), _mean(turned[could], able, trial.bootstrap)
    if trial.constant and probe.expect != "fall":
        return Finding(name, probe, "open", delta, flips, "constant")
    if delta.value is None:
        return Finding(name, probe, "open", delta, flips, "undefined" if delta.n else "none")
    if delta.n < trial.file.min_cases:
        return Finding(name, probe, "open", delta, flips, "few")
    return Finding(name, probe, _verdict(probe, delta, flips), delta, flips)


def _on_truth(probe: Probe) -> bool:
    """Whether the probe makes something false, or takes away what supports it: nothing where truth does not count."""
    return isinstance(probe.by, FalseStatement) or (
        isinstance(probe.by, Evidence) and probe.by.change == "evidence_swapped"
    )


def _mean(values: Floats, found: Sequence[Pair], bootstrap: BootstrapSpec) -> Estimate:
    clusters = [pair.family for pair in found]
    return mean_estimate(values, clusters, samples=bootstrap.samples, level=bootstrap.level, seed=bootstrap.seed)


def _change(probe: Probe, memory: _Memory, found: Sequence[Pair]) -> tuple[Floats, Floats]:
    """The scores before, and what is added to them after."""
    before = memory.score([pair.before for pair in found])
    if isinstance(probe.by, Repeat):
        return before, memory.again([pair.before for pair in found], probe.by.runs) if found else before
    return before, memory.score([pair.after for pair in found]) - before


def _turned(probe: Probe, before: Floats, after: Floats, threshold: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Whether each case changed sides (in the direction that matters), and which cases could."""
    was, became = before >= threshold, after >= threshold
    if probe.expect == "no_rise":
        return (~was & became).astype(np.float64), ~was
    if probe.expect == "fall":
        return (was & ~became).astype(np.float64), was
    return (was != became).astype(np.float64), np.ones(len(before), np.bool_)


def _length(memory: _Memory, rated: Sequence[Example], bootstrap: BootstrapSpec) -> Estimate:
    lengths = np.log1p([len(example.case.answer) for example in rated])
    statistic = of_partial(
        memory.score([e.case for e in rated]), lengths, np.array([example.target for example in rated])
    )
    clusters = [example.family for example in rated]
    return estimate(statistic, clusters, samples=bootstrap.samples, level=bootstrap.level, seed=bootstrap.seed)


def _verdict(probe: Probe, delta: Estimate, flips: Estimate) -> Verdict:
    verdicts = [judged(probe, delta, probe.delta)]
    if probe.flip is not None and flips.value is not None:
        verdicts.append(judged(probe, flips, probe.flip, share=True))
    return next(verdict for verdict in ("fail", "warn", "pass") if verdict in verdicts)


def judged(probe: Probe, found: Estimate, limits: Limits, *, share: bool = False) -> Verdict:
    """Pass, warn or fail of a mean change, or of a `share` of flips, with regard to its interval.

    It passes if the value keeps within `warn` and the interval within `fail`; it fails if the value lies beyond
    `fail` and the interval beyond `warn`: then no luck of the draw explains it. All else is a warning. Without a limit
    `fail` nothing fails, and the interval of what must fall must keep off zero.
    """
    assert found.value is not None
    low = found.value if found.low is None else found.low
    high = found.value if found.high is None else found.high
    if probe.expect == "fall":
        worst, value, best = (low, found.value, high) if share else (-high, -found.value, -low)
        fine = value >= limits.warn and worst >= (limits.fail or 0.0)
        bad = limits.fail is not None and value < limits.fail and best < limits.warn
    else:
        if probe.expect == "same":
            best, value, worst = _nearest(low, high), abs(found.value), max(abs(low), abs(high))
        else:
            best, value, worst = low, found.value, high
        fine = value <= limits.warn and (limits.fail is None or worst <= limits.fail)
        bad = limits.fail is not None and value > limits.fail and best > limits.warn
    return "pass" if fine else "fail" if bad else "warn"


def _nearest(low: float, high: float) -> float:
    """The distance of an interval from zero."""
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high))
