"""The scorer kind `claims`: what the claims of an answer come to, in several aspects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import Answer, AnswerClaim, Dropped, Item, NotApplicable, Row, StepContext
from benchbuilder.evaluation.claims.counts import count_claims
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult

CLAIM_ASPECTS = (
    "asserts_wrong",
    "asserts_right",
    "contradictions",
    "claim_precision",
    "grounded",
    "f1_at_k",
    "key_recall",
)
"""The aspects of its scores; the first is the headline."""
UNREAD = ("needs_model", "too_long")
"""Why an answer was not read at all, so that nothing is known of it."""


class ClaimAspectsSpec(KindSpec):
    """`k` is how many supported claims an answer needs for a full recall in F1@K."""

    k: Annotated[int, Field(ge=1, le=1000)]


class ClaimsScorer(Scorer):
    """Scores what the step `claims` found in an answer.

    ``asserts_wrong``, the misinformation rate, is 1 if some claim says the wrong statement or denies the right one, and
    ``asserts_right`` 1 if some claim says the right one; reported parts, and those that were taken back, assert
    nothing. ``contradictions`` is 1 if the paragraphs contradict a claim. The label is the answer's outcome: ``right``,
    ``wrong``, ``mixed``, ``abstained``, ``refused``, ``off_topic``, or that of the request without text; the counts
    are contradicted claims, claims and parts. ``claim_precision``, ``grounded`` and
    ``f1_at_k`` have no value for an answer without such claims. ``key_recall`` is ``asserts_right`` where the item has
    no criteria. If a claim has no verdict, only what it cannot change has a value.
    """

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[KindSpec]] = ClaimAspectsSpec
    reads: ClassVar[type[Row] | None] = AnswerClaim
    reasons: ClassVar[Mapping[str, str]] = {
        "not_read": "The claims of this answer are not read: its item is of another type.",
        "missing": "The model has no answer to this item.",
        "too_long": "The answer is too long for its claims to be read.",
        "needs_model": "The verifier has no model.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: ClaimAspectsSpec = spec

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The aspects of each answer."""
        return [self._scored(answer, self.rows_of(answer)) for answer, _ in pairs]

    def _scored(self, answer: Answer, rows: Sequence[Row]) -> ScorerResult:
        claims = [row for row in rows if isinstance(row, AnswerClaim)]
        if answer.outcome == "missing" or not claims:
            return NotApplicable("missing" if answer.outcome == "missing" else "not_read")
        reasons = {row.reason for row in claims}
        if unread := next((reason for reason in UNREAD if reason in reasons), None):
            return Dropped(unread)
        found = count_claims(claims)
        label: str = found.outcome
        if answer.outcome not in ("complete", "truncated") or reasons == {"no_text"}:
            label = answer.outcome if answer.outcome not in ("complete", "truncated") else "empty"
        is_open = any(row.number and row.kind == "claim" and not row.verdict for row in claims)
        wrong, right = (
            None if is_open and not said else float(said) for said in (found.asserts_wrong, found.asserts_right)
        )
        counts = (found.contradicted, found.claims, found.parts)
        contradicted = None if is_open and not found.contradicted else float(found.contradicted > 0)
        values = (None, None, None) if is_open else (found.precision, found.grounded, found.f1_at(self.spec.k))
        aspects = dict(zip(CLAIM_ASPECTS, (wrong, right, contradicted, *values, right), strict=True))
        return tuple(AspectScore(name, value, label, counts=counts) for name, value in aspects.items())
