"""Makes one word of the same word of several lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.config import StepSpec
from benchbuilder.core import Dropped, Fact, Fold, GatherResult, Kept, Outcome, Row, Table, Term, fold_text
from benchbuilder.steps.base import Gather, Port

_FACT = Fact[Term]


class MergeTermsSpec(StepSpec):
    """`fold` is what does not count when words are compared: ``case``, ``marks``."""

    fold: tuple[Fold, ...] = ()


class MergeTerms(Gather):
    """The first of the words that are the same stays, as it is written, with the lists and originals of them all."""

    kind: ClassVar[str] = "merge_terms"
    spec_class: ClassVar[type[StepSpec]] = MergeTermsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {"merged": "The same word of another list, or of this one, stays."}

    spec: MergeTermsSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Each word once, in the order in which they came."""
        rows = list(tables["each"])
        same: dict[str, list[Any]] = {}
        for row in rows:
            same.setdefault(fold_text(row.payload.text, self.spec.fold), []).append(row)
        outcomes: dict[str, list[Outcome]] = {}
        for first, *others in same.values():
            payload = first.payload.model_copy(update=_merge_fields([first.payload, *(row.payload for row in others)]))
            outcomes[first.id] = [Kept(_FACT.child(first, *others, produced_by=self.produced_by(), payload=payload))]
            for row in others:
                outcomes[row.id] = [Dropped("merged", f"{row.payload.text} of {', '.join(row.payload.lists)}: as "
                                         f"{first.payload.text} of {', '.join(first.payload.lists)}")]  # fmt: skip
        return GatherResult([(row.id, outcomes[row.id]) for row in rows])


def _merge_fields(terms: Sequence[Term]) -> dict[str, Any]:
    """What all of the terms say."""
    return {
        **{
            name: tuple(dict.fromkeys(part for term in terms for part in getattr(term, name)))
            for name in ("original", "lists", "translated_by")
        },
        "note": "; ".join(dict.fromkeys(term.note for term in terms if term.note)),
    }
