"""The step `correct`: fixes or withdraws candidates as the log of errata says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from benchbuilder.config import FileRef, KeyedByStep, StepSpec
from benchbuilder.core import Candidate, Dropped, FilterResult, GatherResult, Kept, Outcome, Table, constant_column
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.errata.log import CorrectedItem, Corrections, ItemTexts, read_errata


class CorrectSpec(StepSpec):
    """Where the errata of the benchmark are."""

    errata: Annotated[FileRef | None, KeyedByStep()] = None
    """The log that ``benchbuild errata`` writes (``.jsonl``); ``null``: there is none. Its decisions in force are part
    of the key. Reports without a decision are not."""


class Correct(Gather):
    """Follows the decisions about errata, so that a fix survives every later build.

    A candidate is found by its texts and its verdict, whatever its id. A fixed one is a child of the former and has a
    new id. So people judge it anew, and models are asked about it anew. If a candidate is withdrawn, the rest of its
    family is dropped too: what is left of a family tells something about its verdicts. All others are kept as they are.
    """

    kind: ClassVar[str] = "correct"
    spec_class: ClassVar[type[StepSpec]] = CorrectSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Candidate)}
    reasons: ClassVar[Mapping[str, str]] = {
        "withdrawn": "An erratum withdraws the question.",
        "family_incomplete": "An erratum withdraws another question of its family.",
    }

    spec: CorrectSpec

    @cached_property
    def _corrections(self) -> Corrections:
        return Corrections(() if self.spec.errata is None else read_errata(self.spec.errata.file).values())

    def fingerprint(self) -> Mapping[str, str]:
        """The decisions in force, if there are any."""
        return {"the decisions about errata": self._corrections.digest()} if self._corrections.errata else {}

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult | FilterResult:
        """Every candidate: as it was, fixed, or dropped."""
        if not self._corrections.errata:
            count = len(tables["each"])
            return FilterResult([None] * count, constant_column("", count))
        rows: list[Candidate] = list(tables["each"])
        found = [self._corrections.apply(ItemTexts.of(row)) for row in rows]
        lost: dict[str, str] = {}
        for row, corrected in zip(rows, found, strict=True):
            if corrected.texts is None:
                lost.setdefault(row.family or row.fact, corrected.errata[-1])
        outcomes: list[tuple[str, list[Outcome]]] = [
            (row.id, [self._outcome(row, corrected, lost.get(row.family or row.fact, ""))])
            for row, corrected in zip(rows, found, strict=True)
        ]
        used = {name for corrected in found for name in corrected.errata}
        notes = {
            "errata": sorted(used),
            "errata_of_other_items": sorted({e.id for e in self._corrections.errata} - used),
        }
        return GatherResult(outcomes, notes=notes)

    def _outcome(self, row: Candidate, corrected: CorrectedItem, lost: str) -> Outcome:
        if corrected.texts is None:
            return Dropped("withdrawn", corrected.errata[-1])
        if lost:
            return Dropped("family_incomplete", lost)
        if corrected.texts == ItemTexts.of(row):
            return Kept(row)
        return Kept(self._fixed(row, corrected.texts))

    def _fixed(self, row: Candidate, texts: ItemTexts) -> Candidate:
        """The candidate with other texts. No check of a step before holds for them."""
        kept = ("fact", "family", "negated", "form", "wrong_from", "verdict_only", "tags")
        fields: dict[str, Any] = {name: getattr(row, name) for name in kept} | texts.model_dump()
        if row.asked in texts.question:
            fields["asked"] = row.asked
        return Candidate.child(row, produced_by=self.produced_by(), **fields)
