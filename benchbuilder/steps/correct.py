"""The step `correct`: fixes or withdraws candidates as the log of errata says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import FileRef, KeyedByStep, StepSpec
from benchbuilder.core import (
    Candidate,
    Dropped,
    FilterResult,
    GatherStream,
    Table,
    combined_column,
    constant_column,
    decided_pieces,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.errata.log import Corrections, ItemTexts, read_errata

_compute: Any = pc


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

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult | GatherStream:
        """Every candidate: as it was, fixed, or dropped."""
        table = tables["each"]
        if not self._corrections.errata:
            return FilterResult([None] * len(table), constant_column("", len(table)))
        decided: dict[int, Candidate | Dropped] = {}
        lost: dict[str, str] = {}
        used = set[str]()
        for place, row in self._named_rows(table):
            corrected = self._corrections.apply(ItemTexts.of(row))
            used.update(corrected.errata)
            if corrected.texts is None:
                lost.setdefault(row.family or row.fact, corrected.errata[-1])
                decided[place] = Dropped("withdrawn", corrected.errata[-1])
            elif corrected.texts != ItemTexts.of(row):
                decided[place] = self._fixed(row, corrected.texts)
        for place, family in _rows_of_families(table, lost):
            if not isinstance(decided.get(place), Dropped):
                decided[place] = Dropped("family_incomplete", lost[family])
        notes = {
            "errata": sorted(used),
            "errata_of_other_items": sorted({e.id for e in self._corrections.errata} - used),
        }
        return GatherStream(decided_pieces(table, decided), notes=notes)

    def _named_rows(self, table: Table[Any]) -> Iterator[tuple[int, Candidate]]:
        """The candidates with the question of an erratum, and their positions."""
        questions = pa.array(sorted({erratum.before.question for erratum in self._corrections.errata}), pa.string())
        start = 0
        for batch in table.batches():
            mask: Any = _compute.is_in(combined_column(batch, "question"), value_set=questions)
            places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
            yield from zip((start + places).tolist(), Table(batch.filter(mask), table.row), strict=True)
            start += batch.num_rows

    def _fixed(self, row: Candidate, texts: ItemTexts) -> Candidate:
        """The candidate with other texts. No check of a step before holds for them."""
        kept = ("fact", "family", "negated", "form", "wrong_from", "verdict_only", "tags")
        fields: dict[str, Any] = {name: getattr(row, name) for name in kept} | texts.model_dump()
        if row.asked in texts.question:
            fields["asked"] = row.asked
        return Candidate.child(row, produced_by=self.produced_by(), **fields)


def _rows_of_families(table: Table[Any], families: Collection[str]) -> Iterator[tuple[int, str]]:
    """The positions of the candidates of some families, each with its family."""
    wanted = pa.array(sorted(families), pa.string())
    start = 0
    for batch in table.batches(["fact", "family"]):
        fact, family = (combined_column(batch, name) for name in ("fact", "family"))
        own = _compute.if_else(_compute.equal(family, ""), fact, family)
        mask = _compute.is_in(own, value_set=wanted)
        places = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
        yield from zip((start + places).tolist(), own.filter(mask).to_pylist(), strict=True)
        start += batch.num_rows
