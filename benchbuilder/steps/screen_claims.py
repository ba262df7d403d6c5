"""Drops labelled claims that contradict each other, or that nobody can judge alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    GatherResult,
    Kept,
    LabelledClaim,
    LengthUnit,
    NotApplicable,
    Outcome,
    Regex,
    Row,
    SpecIssue,
    Table,
    equality_key,
    first_match,
    text_length,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.questions import CONTEXT_REMARK


class ScreenClaimsSpec(StepSpec):
    """What is no claim of its own."""

    unit: LengthUnit = "words"
    """The unit of `shortest`."""
    shortest: Annotated[int, Field(ge=1)] = 3
    """A claim of fewer units is a fragment."""
    fragments: tuple[Regex, ...] = ()
    """Patterns of texts that are no sentence."""
    context_dependent: tuple[Regex, ...] = ()
    """Patterns of claims about a text that is not shown; claims with a premise are not searched."""


class ScreenClaims(Gather):
    """Keeps claims that are true or false, and whose text says by itself what is claimed.

    Two records with one text and two labels contradict each other, and both are dropped: nobody knows which is right.
    Of records with one text and one label, the first is kept.
    """

    kind: ClassVar[str] = "screen_claims"
    spec_class: ClassVar[type[StepSpec]] = ScreenClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[LabelledClaim])}
    reasons: ClassVar[Mapping[str, str]] = {
        "contradicts": "Another record says the opposite of the same text; both are dropped.",
        "repeated": "An earlier record has the same text and label.",
        "fragment": "The text is no sentence of its own.",
        "context_dependent": "The claim is about a text that is not shown.",
        "unknown_label": "The claim is neither labelled as true nor as false.",
    }

    spec: ScreenClaimsSpec

    def remarks(self) -> Iterator[SpecIssue]:
        """Which words the language lacks."""
        if not self.spec.context_dependent:
            yield CONTEXT_REMARK

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every claim, kept or dropped, in the order of the input."""
        rows = list(tables["each"])
        known: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            if row.payload.label != "unknown":
                known[_key(row)].append(row)
        return GatherResult([(row.id, [self._outcome(row, known[_key(row)])]) for row in rows])

    def _outcome(self, row: Any, alike: list[Any]) -> Outcome:
        claim: LabelledClaim = row.payload
        if claim.label == "unknown":
            return NotApplicable("unknown_label")
        other = next((one for one in alike if one.payload.label != claim.label), None)
        if other is not None:
            return Dropped("contradicts", f"{other.id} is labelled as {other.payload.label}")
        if alike[0].id != row.id:
            return Dropped("repeated", f"kept: {alike[0].id}")
        if text_length(claim.text, self.spec.unit) < self.spec.shortest or first_match(self.spec.fragments, claim.text):
            return Dropped("fragment", claim.text)
        if not claim.premise and (found := first_match(self.spec.context_dependent, claim.text)) is not None:
            return Dropped("context_dependent", found)
        return Kept(row)


def _key(row: Any) -> tuple[str, str]:
    """What two records have in common that speak of the same thing."""
    return equality_key(row.payload.premise), equality_key(row.payload.text)
