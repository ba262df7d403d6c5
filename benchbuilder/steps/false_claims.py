"""Makes false claims of true ones: a part of another claim, another number, a negation, or a detail by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.core import (
    Dropped,
    Fact,
    Kept,
    LabelledClaim,
    LengthUnit,
    NotApplicable,
    Outcome,
    Passage,
    ProducedBy,
    Regex,
    Row,
    Table,
    comparison_form,
    match_count,
    strip_wrapping,
    text_length,
)
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.bounds import NumericBound
from benchbuilder.steps.language.changed_numbers import (
    ChangedNumber,
    NumberChanges,
    NumberContext,
    change_number,
    measures_of,
)
from benchbuilder.steps.language.claim_exchange import exchanged_claims
from benchbuilder.steps.language.edits import SearchRule, count_negations, replace_span, search_negation, single_edit
from benchbuilder.steps.language.punctuation import end_with
from benchbuilder.steps.language.questions import is_one_sentence
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec

_FACT = Fact[LabelledClaim]


class FalseClaimsSpec(WriterSpec):
    """How a claim is made false. The rules of `order` are tried first, then the model."""

    order: tuple[Literal["exchange", "number", "negation"], ...]
    """The rules: a part of another claim in place of its own, one number changed, or the predicate negated."""
    exchange: tuple[Regex, ...] = ()
    """Patterns of whole claims that exchange their group ``value``; see `exchanged_claims`."""
    open_values: tuple[Regex, ...] = ()
    """Patterns of what makes a value one that others may be part of: at least, or, about. It is not exchanged."""
    ignored_words: tuple[str, ...] = ()
    """Words that two parts may share and nevertheless exclude each other."""
    number: NumberChanges = NumberChanges()
    bounds: tuple[NumericBound, ...] = ()
    """On which side of *at least* and the like another number is wrong; without one, such a number stays."""
    asserted: tuple[Regex, ...] = ()
    """Patterns of which one is in what stands before a number that may be changed; empty: any text may stand there."""
    not_asserted: tuple[Regex, ...] = ()
    """Patterns of which none is there: what stands in a condition, or is denied, may hold for other numbers too."""
    measured: Regex = ""
    """Pattern of what stands right after a number that may be changed; empty: anything. With the port ``passages``, no
    number of the documents with the same measure is a new one."""
    negation: tuple[SearchRule, ...] = ()
    """Where a claim is negated, or loses its negation; the first rule that applies counts."""
    unit: LengthUnit
    """The unit of `max_edit`."""
    max_edit: Annotated[int, Field(ge=1)]
    """The most units of the detail that a model replaces, and of what it writes instead."""
    stop: str
    """The final stop of claims."""
    marks: str
    """Marks that the stop replaces at the end of a model's claim."""
    ends: str
    """Characters that end a sentence."""
    negations: tuple[Regex, ...]
    """Patterns of negations; a model's claim has as many as the true one."""
    harmless: tuple[Regex, ...] = ()
    """Words that contain such a pattern without negating anything."""
    hedges: tuple[Regex, ...]
    """Patterns of doubt. A model's claim has as many as the true one."""
    verdicts: tuple[Regex, ...]
    """Patterns that call a claim false, which a model must not write."""


class FalseClaims(Writer):
    """A false claim for each true one about the world: one detail differs.

    The false claim has the gold passages of the true one, which it contradicts, and the quote that shows it.
    """

    kind = "false_claims"
    spec_class = FalseClaimsSpec
    version: ClassVar[int] = 4
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(_FACT),
        "claims": Port(_FACT, mode="lookup", optional=True),
        "passages": Port(Passage, mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = _FACT
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_sentence": "The model's claim is not one sentence.",
        "same_claim": "The model's claim is the true one.",
        "changed_elsewhere": "The model changed more than one short detail.",
        "in_gold": "The new detail is in the paragraph, so the claim may be true.",
        "polarity_changed": "The model's claim has more negations than the true one, or fewer.",
        "hedged": "The model's claim has more words of doubt than the true one, or fewer.",
        "leaks_verdict": "The model's claim says of itself that it is false.",
    }
    """Why a model's text is rejected."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "not_a_true_claim": "Only true claims about the world are made false.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "claim": "the true claim",
        "quote": "the words that show it (may be empty)",
    }
    reply_field = "claim"

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the claims that may exchange a part, and the numbers of the documents."""
        super().open(lookups)
        spec: FalseClaimsSpec = self.spec
        claims = {row.payload.text: _known(row) for row in lookups.get("claims", ())}
        self._exchanged = exchanged_claims(claims, spec.exchange, spec.open_values, spec.ignored_words)
        pages = lookups.get("passages", ())
        measures = {one for row in pages for one in measures_of(row.text, spec.measured)}
        self._numbers = NumberContext(spec.bounds, spec.asserted, spec.not_asserted, spec.measured, measures)

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:  # noqa: ARG002
        """False claims, questions, and claims about a text."""
        claim: LabelledClaim = row.payload
        is_true = claim.label == "true" and claim.about == "world" and not claim.asked
        return None if is_true else NotApplicable("not_a_true_claim")

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The claim with another number, or negated, by the first rule that applies."""
        spec: FalseClaimsSpec = self.spec
        causes: list[str] = []
        seed = f"{self.context.seed}:{row.id}"
        for rule in spec.order:
            if rule == "exchange":
                if exchanged := self._exchanged.get(row.payload.text):
                    return self._false(row, exchanged, "exchange")
                causes.append("no_partner")
            elif rule == "number":
                found = change_number(row.payload.text, _known(row), spec.number, seed, self._numbers)
                if isinstance(found, ChangedNumber):
                    return self._false(row, found.text, "number")
                causes.append(found)
            elif (edit := search_negation(row.payload.text, spec.negation)) is not None:
                return self._false(row, replace_span(row.payload.text, *edit), "negation")
            else:
                causes.append("no_negation")
        return NeedsModel(f"{', '.join(causes)} | {row.payload.text}")

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Claim and quote."""
        return {"claim": row.payload.text, "quote": row.payload.quote}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:
        """The result of the rules, or the claim, as an estimate of the length."""
        outcome = self.by_rule(row, parents)
        made: Any = outcome.row if isinstance(outcome, Kept) else row
        text: str = made.payload.text
        return text

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The true claim with one short detail replaced by another one that the paragraph does not have."""
        spec: FalseClaimsSpec = self.spec
        before: str = row.payload.text
        reply = strip_wrapping(text)
        after = end_with(reply, spec.stop, spec.marks)
        if "\n" in reply or not is_one_sentence(after, spec.stop, spec.ends):
            return ReplyFault("not_one_sentence")
        if any(match_count(pattern, after) > match_count(pattern, before) for pattern in spec.verdicts):
            return ReplyFault("leaks_verdict")
        edit = single_edit(before, after, None)
        if edit is None or comparison_form(before) == comparison_form(after):
            return ReplyFault("same_claim")
        old, new = edit[0].slice_of(before), edit[1]
        if not new or max(text_length(part, spec.unit) for part in (old, new)) > spec.max_edit:
            return ReplyFault("changed_elsewhere", before)
        if any(match_count(pattern, after) != match_count(pattern, before) for pattern in spec.hedges):
            return ReplyFault("hedged", before)
        counted = (count_negations(each, spec.negations, spec.harmless) for each in (before, after))
        if len(set(counted)) > 1:
            return ReplyFault("polarity_changed", before)
        if comparison_form(new) in comparison_form(_known(row)):
            return ReplyFault("in_gold", new)
        return self._row(row, after, produced_by)

    def _false(self, row: Any, text: str, rule: str) -> Outcome:
        if text == row.payload.text:
            return Dropped("same_claim", text)
        return Kept(self._row(row, text, self.produced_by(rule)))

    def _row(self, row: Any, text: str, produced_by: ProducedBy) -> Row:
        payload = row.payload.model_copy(update={"text": text, "label": "false", "contradicts": row.id})
        return _FACT.child(row, produced_by=produced_by, payload=payload)


def _known(row: Any) -> str:
    """What is known about a claim: the texts of its gold passages (or their keys), and its quote."""
    return "\n".join((*row.payload.gold, row.payload.quote))
