"""Facts that are near duplicates: by the texts of their candidates, or by the two ends of their triples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchbuilder.core import (
    NumberSets,
    RowIndex,
    Table,
    combined_column,
    first_equal,
    joined_sets,
    near_or_equal_sets,
    paired_sets,
    trigram_sets,
)
from benchbuilder.steps.families.candidates import KnownCandidates, Mask, Numbers

_TEXTS = ("type", "context", "question", "answer", "answer_wrong", "asked")
_Pairs = tuple[Numbers, Numbers]


class NearFacts:
    """Compares the facts of candidates. `stated` says which facts are in the table of triples, by their numbers."""

    def __init__(self, known: KnownCandidates, triples: Table[Any] | None) -> None:
        self._known = known
        self._triples = triples
        self._index = RowIndex([known.facts.names] if triples is not None else [])
        self.stated = np.zeros(len(known.facts), bool)
        for batch in () if triples is None else triples.batches(["id"]):
            places = self._index.positions(combined_column(batch, "id"))
            self.stated[places[places >= 0]] = True

    def pairs(self, near: float) -> Iterator[_Pairs]:
        """The numbers of facts that are near duplicates, in pairs that connect all of them."""
        if not self.stated.all():
            yield from self._by_texts(near)
        if self.stated.any() and self._triples is not None:
            yield from self._by_ends(self._triples, near)

    def _by_texts(self, near: float) -> Iterator[_Pairs]:
        owners, parts, start = list[Numbers](), list[NumberSets](), 0
        for batch in self._known.table.batches(_TEXTS):
            facts = self._known.facts.numbers[start : start + batch.num_rows]
            start += batch.num_rows
            rows, texts = _compared_texts(batch, ~self.stated[facts])
            sets, facts = trigram_sets(texts), facts[rows]
            filled = np.flatnonzero(sets.sizes() > 0)
            first = filled[first_equal(sets.digests()[filled])]
            yield facts[first], facts[filled]
            kept = filled[first == filled]
            owners.append(facts[kept])
            parts.append(sets.take(kept))
        sets, facts = joined_sets(parts), np.concatenate(owners)
        del parts, owners
        for left, right in near_or_equal_sets(sets, near, np.arange(len(sets))):
            yield facts[left], facts[right]

    def _by_ends(self, triples: Table[Any], near: float) -> Iterator[_Pairs]:
        owners, parts = list[Numbers](), list[tuple[NumberSets, NumberSets]]()
        for batch in triples.batches(["id", "payload.head", "payload.tail"]):
            facts = self._index.positions(combined_column(batch, "id"))
            mask: Any = facts >= 0
            names: list[list[Any]] = [
                combined_column(batch, f"payload.{end}").filter(mask).to_pylist() for end in ("head", "tail")
            ]
            heads, tails = map(trigram_sets, names)
            owners.append(facts[mask])
            parts.append((heads, tails))
        facts = np.concatenate(owners)
        ends = [joined_sets([part[side] for part in parts]) for side in (0, 1)]
        del parts
        # two ends that are near make a whole that is near
        for left, right in near_or_equal_sets(paired_sets(*ends), near, np.arange(len(facts))):
            both = np.logical_and.reduce([_are_near(sets, left, right, near) for sets in ends])
            yield facts[left[both]], facts[right[both]]


def _compared_texts(batch: Any, wanted: Mask) -> tuple[Numbers, list[str]]:
    """The texts by which facts are compared: statements, and questions without a statement; and the row of each."""
    columns: list[list[Any]] = [combined_column(batch, name).to_pylist() for name in _TEXTS]
    rows, texts = list[int](), list[str]()
    for place, (sort, context, question, answer, wrong, asked) in enumerate(zip(*columns, strict=True)):
        if not wanted[place]:
            continue
        own = (asked,) if asked else (answer, wrong) if sort == "tf" else (answer, wrong, question)
        texts += [context + text for text in own]
        rows += [place] * len(own)
    return np.array(rows, np.int64), texts


def _are_near(sets: NumberSets, left: Numbers, right: Numbers, near: float) -> Mask:
    """Whether the two sets of each pair are equal, or near."""
    common, sizes = sets.common(left, right), sets.sizes()
    one, other = sizes[left], sizes[right]
    return ((common == one) & (common == other)) | (common / np.maximum(one + other - common, 1) > near)
