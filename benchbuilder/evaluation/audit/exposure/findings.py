"""What the replies of a model show: one finding for each test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchbuilder.config import AllowedLeak
from benchbuilder.evaluation.audit.exposure.base import ScoredReply
from benchbuilder.evaluation.audit.exposure.canary import CANARY
from benchbuilder.evaluation.audit.exposure.completion import COMPLETION
from benchbuilder.evaluation.audit.exposure.options import OPTIONS, same_option
from benchbuilder.evaluation.audit.exposure.quiz import QUIZ
from benchbuilder.evaluation.audit.exposure.statistics import fisher_excess, matched_excess, permuted_excess
from benchbuilder.evaluation.results.compare import holm_adjusted

ExposureWord = Literal["shown", "not shown", "not tested"]
FEWEST = 10
"""With fewer replies, a test shows nothing."""


@dataclass(frozen=True)
class ExposureFinding:
    """What one test says of one model; "not shown" is no proof that the model has not seen the benchmark.

    Attributes:
        n: The number of originals that the model was asked about.
        score: Their mean score: overlap with the rest (completion), else the proportion of hits.
        control_n: The number of controls.
        control: Their mean score; ``None`` without controls.
        p: How probable the score is if the model has seen nothing; ``None`` if the test needs no p.
        p_holm: The same over all tests and models together.
        why: Why there is no finding, or what is to be known of it.
        allowed: Why the author accepts the finding.
    """

    model: str
    test: str
    word: ExposureWord
    n: int = 0
    score: float | None = None
    control_n: int = 0
    control: float | None = None
    p: float | None = None
    p_holm: float | None = None
    why: str = ""
    allowed: str = ""


def judge_replies(
    model: str, test: str, replies: Sequence[ScoredReply], failed: int, draws: int, seed: int
) -> ExposureFinding:
    """The finding of a test before the correction for several tests."""
    originals = [reply for reply in replies if not reply.control]
    controls = [reply for reply in replies if reply.control]
    found = ExposureFinding(
        model, test, "not shown", len(originals), _mean(originals), len(controls), _mean(controls),
        why=f"{failed} without a reply" if failed else "",
    )  # fmt: skip
    if test == CANARY and originals:
        return replace(found, word="shown") if found.score else found
    if len(originals) < FEWEST or (test == COMPLETION and len(controls) < FEWEST):
        why = f"too few replies: {len(originals)}, and {len(controls)} controls; {FEWEST} of each are needed"
        return replace(found, word="not tested", why=why)
    return replace(found, p=_p(test, originals, controls, draws, seed))


def conclude(findings: Sequence[ExposureFinding], level: float, allow: Sequence[AllowedLeak]) -> list[ExposureFinding]:
    """The findings, corrected for the number of tests, with what the author allows."""
    concluded: list[ExposureFinding] = []
    for found, p_holm in zip(findings, holm_adjusted([finding.p for finding in findings]), strict=True):
        shown = found.word == "shown" or (p_holm is not None and p_holm <= level)
        rules = [rule for rule in allow if rule.view == found.test and rule.scope in ("all", found.model)]
        concluded.append(replace(
            found, p_holm=p_holm, word="shown" if shown else found.word,
            allowed=rules[0].why if shown and rules else "",
        ))  # fmt: skip
    return concluded


def _mean(replies: Sequence[ScoredReply]) -> float | None:
    return sum(reply.score for reply in replies) / len(replies) if replies else None


def _p(
    test: str, originals: Sequence[ScoredReply], controls: Sequence[ScoredReply], draws: int, seed: int
) -> float | None:
    if test == COMPLETION:
        return permuted_excess([r.score for r in originals], [r.score for r in controls], draws, seed)
    if test == QUIZ:
        hits, control_hits = (round(sum(reply.score for reply in group)) for group in (originals, controls))
        return fisher_excess(hits, len(originals), control_hits, len(controls))
    if test == OPTIONS:
        return matched_excess([r.reply for r in originals], [r.expected for r in originals], same_option, draws, seed)
    return None
