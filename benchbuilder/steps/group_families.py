"""The step `group_families`: near duplicates become one family; equal questions are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Candidate,
    Fact,
    GatherPiece,
    GatherStream,
    OutcomeBatch,
    Table,
    Triple,
    combined_column,
    constant_column,
    first_equal,
    join_numbers,
    near_texts,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.families.candidates import Groups, KnownCandidates, Numbers
from benchbuilder.steps.families.drops import REASONS, FamilyDrops
from benchbuilder.steps.families.near_facts import NearFacts

_compute: Any = pc
_LISTED = 20
"""How many of the largest families the notes name."""


class GroupFamiliesSpec(StepSpec):
    """What is a near duplicate, and what happens to contradictions.

    Facts whose texts share more than `near` of their character trigrams (Jaccard) become one family; ``null`` joins
    none. Two open questions are the same if they are equal, or if they share more than `same` of their trigrams.
    `contradictions` of the same question are dropped, or kept for the experts. With `by_record`, all facts of one
    record of a source are one family, such as those of one procedure.
    """

    near: Annotated[float | None, Field(gt=0, le=1)] = 0.7
    same: Annotated[float, Field(gt=0, le=1)] = 1.0
    contradictions: Literal["drop", "keep"] = "drop"
    by_record: bool = False


class GroupFamilies(Gather):
    """Joins families of near-duplicate facts, and drops equal questions.

    The texts of a fact are its right and its wrong answers and its open questions, with their contexts. Facts in the
    table of the port `triples` are compared by their two ends alone, each of which must be near: sentences about
    triples share their frame, facts about one concept share its name, and a question may have several answers. Where a
    question is shown with an answer, facts are compared by the question alone.
    Families are joined transitively, and the smallest name is kept.

    Open questions with different right answers contradict each other. So do true/false questions about one statement,
    in whatever form, if it is true for one and false for another. All of them are dropped. Of equal questions with
    equal answers, the first is kept. If a true/false question is dropped, the other true/false questions of its former
    family are dropped too: a family that lost a part may give its verdicts away. Kept rows keep their ids.
    """

    kind: ClassVar[str] = "group_families"
    spec_class: ClassVar[type[StepSpec]] = GroupFamiliesSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Candidate),
        "triples": Port(Fact[Triple], mode="lookup", optional=True),
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "contradiction": "An equal question has another right answer.",
        "duplicate": "An equal question with the same answer is kept.",
        "family_incomplete": "Another true/false question of its family is dropped.",
    }

    spec: GroupFamiliesSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every candidate, kept with its family or dropped, in the order of the input."""
        known = KnownCandidates(tables["each"])
        same, claimed = self._same_questions(known), known.claimed()
        facts = NearFacts(known, tables.get("triples"))
        pairs = self._pairs(known, facts, (same, claimed))
        names = np.array(join_numbers(len(known.former), pairs), np.int64)[known.former.numbers]
        drops = FamilyDrops(known, same, (same, claimed))
        notes = _notes(known, names) | {"contradictions": drops.count_contradictions()}
        if self.spec.contradictions == "drop":
            drops.drop_contradictions()
        drops.drop_duplicates()
        return GatherStream(_pieces(known, names, drops), notes=notes)

    def _same_questions(self, known: KnownCandidates) -> Groups:
        """The candidates with the same question."""
        places = np.arange(len(known))
        labels = first_equal(known.questions)
        if self.spec.same < 1.0:
            first = np.flatnonzero(~known.tf & (labels == places))
            smallest = np.array(
                join_numbers(len(first), near_texts(_questions(known, first), self.spec.same)), np.int64
            )
            joined = places.copy()
            joined[first] = first[smallest]
            labels = joined[labels]
        return Groups.of(labels, places)

    def _pairs(self, known: KnownCandidates, facts: NearFacts, alike: Iterable[Groups]) -> Iterator[tuple[int, int]]:
        """The former families that are joined, in pairs."""
        former = known.former.numbers
        places = [groups.neighbours(~facts.stated[known.facts.numbers]) for groups in alike]
        if self.spec.by_record:
            places.append(known.records().neighbours(np.ones(len(known), bool)))
        firsts = known.first_of_fact
        near = facts.pairs(self.spec.near) if self.spec.near is not None else ()
        for left, right in chain(places, ((firsts[one], firsts[other]) for one, other in near)):
            joined = former[left] != former[right]
            yield from zip(former[left[joined]].tolist(), former[right[joined]].tolist(), strict=True)


def _questions(known: KnownCandidates, places: Numbers) -> Iterator[str]:
    """The questions at these positions, which rise, with their contexts."""
    start = 0
    for batch in known.table.batches(["context", "question"]):
        low, high = np.searchsorted(places, [start, start + batch.num_rows])
        some: Any = batch.take(pa.array(places[low:high] - start, pa.int64()))
        texts = _compute.binary_join_element_wise(*(combined_column(some, name) for name in some.column_names), "")
        yield from texts.to_pylist()
        start += batch.num_rows


def _pieces(known: KnownCandidates, names: Numbers, drops: FamilyDrops) -> Iterator[GatherPiece]:
    """The candidates with what became of them."""
    for first, window in known.table.windows():
        places = np.arange(first, first + len(window))
        dropped = drops.dropped(places)
        numbers: Any = pa.array(names[places[~dropped]])
        place = window.arrow.schema.get_field_index("family")
        rows = window.arrow.filter(pa.array(~dropped))
        rows = rows.set_column(place, window.arrow.schema.field(place), known.former.names.take(numbers))
        details, empty = constant_column("", len(places)), constant_column("", len(places))
        if dropped.any():
            texts: Any = pa.array(drops.details(places[dropped]), pa.string())
            details = _compute.replace_with_mask(details, pa.array(dropped), texts)
        branches = OutcomeBatch(
            pa.array(np.arange(len(places))), empty, pa.array(np.where(dropped, "dropped", "kept"), pa.string()),
            pa.array(np.array(REASONS)[drops.reasons[places]], pa.string()), details, Table(rows, window.row),
        )  # fmt: skip
        yield GatherPiece(places, window, branches)


def _notes(known: KnownCandidates, names: Numbers) -> dict[str, Any]:
    """How many families there are and how large they are, in facts."""
    members = np.unique(names * max(1, len(known.facts)) + known.facts.numbers)
    families, sizes = np.unique(members // max(1, len(known.facts)), return_counts=True)
    largest = np.lexsort((families, -sizes))[:_LISTED]
    largest = largest[sizes[largest] > 1]
    listed: Any = pa.array(families[largest])
    return {
        "families": {
            "before": len(known.former),
            "after": len(families),
            "sizes": {str(size): int(count) for size, count in zip(*np.unique(sizes, return_counts=True), strict=True)},
            "largest": dict(zip(known.former.names.take(listed).to_pylist(), sizes[largest].tolist(), strict=True)),
        }
    }
