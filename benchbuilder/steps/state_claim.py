"""Turns labelled claims into statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Fact, Kept, LabelledClaim, NotApplicable, Outcome, Row, Statement
from benchbuilder.steps.base import Map, Port

_FORM = "claim"


class StateClaimSpec(StepSpec):
    """Claims are stated as they are."""


class StateClaim(Map):
    """A statement for each claim that is labelled as true or false; it is the claim, word for word.

    A false claim that was made of a true one belongs to the same fact.
    """

    kind: ClassVar[str] = "state_claim"
    spec_class: ClassVar[type[StepSpec]] = StateClaimSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[LabelledClaim])}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "unknown_label": "The claim is neither labelled as true nor as false.",
        "is_question": "It is a yes/no question, and no sentence.",
    }

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch per claim."""
        claim: LabelledClaim = row.payload
        if claim.label == "unknown":
            return [NotApplicable("unknown_label")]
        if claim.asked:
            return [NotApplicable("is_question")]
        rule = row.produced_by.rule.removeprefix("false_claims/") if claim.contradicts else "listed"
        statement = Statement.child(
            row, produced_by=self.produced_by(), polarity=claim.label, text=claim.text, joined="template",
            context=claim.premise, fact=claim.contradicts or row.id, form=_FORM, wrong_from=rule.partition("/")[0],
            checks=("as_labelled",),
        )  # fmt: skip
        return [Kept(statement)]
