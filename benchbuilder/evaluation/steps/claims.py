"""The step `claims`: the parts of each answer, and what a verifier says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Answer,
    AnswerClaim,
    Item,
    Kept,
    NotApplicable,
    Outcome,
    Row,
    SpecIssue,
    StepContext,
    Table,
    create_from_spec,
    is_blank,
    strip_reasoning,
)
from benchbuilder.evaluation.claims.base import ClaimVerifier, VerifiedPart
from benchbuilder.evaluation.claims.clauses import is_whole, split_clauses
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.models import Conversation
from benchbuilder.steps import Port, PromptedMap, model_identity, sampling_issues

CLAIMS = "answer_claims"
"""What the names of these steps begin with."""


class ReadAnswerClaimsSpec(StepSpec):
    """The verifier."""

    verifier: Annotated[KindSpec, Slot("verifier")]


class ReadAnswerClaims(PromptedMap):
    """Cuts each answer into clauses, and lets a verifier say what the item's paragraphs and statements say of each.

    An answer that cannot be read is a row too, with the number 0 and the reason.
    """

    kind: ClassVar[str] = "claims"
    spec_class: ClassVar[type[StepSpec]] = ReadAnswerClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Answer), "item": Port(Item, mode="parent")}
    output: ClassVar[type[Row] | None] = AnswerClaim
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "other_type": "Claims are read in answers to other types of questions.",
        "verdict_only": "Both answers of the item are verdicts: an answer makes no claims that could be compared.",
        "missing": "The model has no answer to this item.",
    }

    spec: ReadAnswerClaimsSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.verifier: ClaimVerifier = create_from_spec("verifier", spec.verifier)

    @property
    def model_spec(self) -> KindSpec | None:
        """The model that the verifier asks."""
        return self.verifier.model_spec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:  # noqa: ARG002
        """The issues of the verifier's sampling settings."""
        return [] if self.model_spec is None else sampling_issues(self.model_spec, self.spec.verifier.sampling)  # type: ignore[attr-defined]

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the verifier, and everything besides the spec that affects its verdicts."""
        model = {} if self.model_spec is None else model_identity(self.model_spec)
        return {"verifier": f"{self.verifier.kind} {self.verifier.version}", **self.verifier.fingerprint(), **model}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the verifier."""
        self.verifier.open()

    def converse(self, row: Answer, parents: Mapping[str, Any]) -> Conversation:
        """The parts of one answer."""
        item, spec = parents["item"], self.verifier.spec
        if str(getattr(item.payload, "type", "oe")) not in spec.types:
            return [NotApplicable("other_type")]
        if item.verdict_only or row.outcome == "missing":
            return [NotApplicable("verdict_only" if item.verdict_only else "missing")]
        case = make_case(item, strip_reasoning(row.text) or "")
        if is_blank(case.answer) or row.outcome not in ("complete", "truncated"):
            return [self._unread(row, item, "no_text")]
        if len(case.answer) > spec.longest:
            return [self._unread(row, item, "too_long")]
        clauses = split_clauses(case.answer, self.verifier.words_of(case.answer))
        if not clauses:
            return [self._unread(row, item, "no_text")]
        is_cut = row.outcome == "truncated" and not is_whole(case.answer)
        whole = clauses[:-1] if is_cut else clauses
        parts = yield from self.verifier.verify(case, whole[: spec.most])
        parts += [VerifiedPart(clause, reason="too_many") for clause in whole[spec.most :]]
        parts += [VerifiedPart(clause, "none", note="cut") for clause in clauses[len(whole) :]]
        return [self._kept(row, item, case.answer, number, part) for number, part in enumerate(parts, 1)]

    def _unread(self, row: Answer, item: Item[Any], reason: str) -> Outcome:
        own = {"number": 0, "reason": reason, "verifier": self.verifier.kind}
        return self._row(row, item, own)

    def _kept(self, row: Answer, item: Item[Any], answer: str, number: int, part: VerifiedPart) -> Outcome:
        clause = part.clause
        paragraph, start, end = part.quote or (None, None, None)
        own: dict[str, Any] = {name: getattr(part, name) for name in _COPIED}
        own |= {"number": number, "start": clause.start, "end": clause.end, "text": clause.text(answer)}
        own |= {"paragraph": paragraph, "quote_start": start, "quote_end": end, "verifier": self.verifier.kind}
        return self._row(row, item, own)

    def _row(self, row: Answer, item: Item[Any], own: Mapping[str, Any]) -> Outcome:
        slot = str(own["number"])
        produced_by = self.produced_by(self.verifier.kind)
        claim = AnswerClaim.child(row, produced_by=produced_by, slot=slot, item=item.id, model=row.model, **own)
        return Kept(claim, slot)


_COPIED = ("kind", "verdict", "reason", "note", "right", "wrong", "taken_back_by", "near")
"""What a row takes from a part as it is."""
