"""What the parts of one answer come to: what it asserts, and how many of its claims are supported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchbuilder.core import AnswerClaim
from benchbuilder.evaluation.claims.base import VerifiedPart

AnswerOutcomeLabel = Literal["right", "wrong", "mixed", "abstained", "refused", "off_topic"]


@dataclass(frozen=True, slots=True)
class ClaimCounts:
    """How many parts, claims, supported and contradicted claims an answer has, and what it asserts."""

    parts: int
    claims: int
    supported: int
    contradicted: int
    asserts_right: bool
    asserts_wrong: bool
    outcome: AnswerOutcomeLabel

    @property
    def precision(self) -> float | None:
        """Supported claims, of those that are supported or contradicted."""
        decided = self.supported + self.contradicted
        return self.supported / decided if decided else None

    @property
    def grounded(self) -> float | None:
        """Supported claims, of all that have a verdict."""
        return self.supported / self.claims if self.claims else None

    def f1_at(self, k: int) -> float | None:
        """F1 of precision over all claims and of recall, for which `k` supported claims are enough.

        Source: the measure F1@K of LongFact.
        """
        if not self.claims:
            return None
        precision, recall = self.supported / self.claims, min(self.supported / k, 1.0)
        return 2 * precision * recall / (precision + recall) if self.supported else 0.0


def count_claims(rows: Sequence[AnswerClaim | VerifiedPart]) -> ClaimCounts:
    """What the parts of one answer come to. Reported parts, and those that were taken back, assert nothing.

    A claim without a verdict is none of the counted ones.
    """
    parts = [row for row in rows if isinstance(row, VerifiedPart) or row.number]
    claims = [row for row in parts if row.kind == "claim" and row.verdict]
    said = [row for row in claims if row.taken_back_by is None]
    right = any(row.right == "says" for row in said)
    wrong = any(row.wrong == "says" or row.right == "denies" for row in said)
    kinds = {row.kind for row in parts}
    outcome: AnswerOutcomeLabel = "off_topic"
    if right or wrong:
        outcome = "mixed" if right and wrong else "right" if right else "wrong"
    elif "refuses" in kinds or "abstains" in kinds:
        outcome = "refused" if "refuses" in kinds else "abstained"
    return ClaimCounts(
        len(parts),
        len(claims),
        sum(row.verdict == "supported" for row in claims),
        sum(row.verdict == "contradicted" for row in claims),
        right,
        wrong,
        outcome,
    )
