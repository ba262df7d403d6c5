"""Which concepts are most similar by their known ends, and how the concepts that have an answer spread over classes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, combined_column, compose_characters
from benchbuilder.steps.language.columns import comparison_keys
from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.language.known_graph import Side
from benchbuilder.steps.language.known_triples import triple_columns
from benchbuilder.steps.swapping.spec import CohesionBar, SimilarBar, SpreadBar, SwapRelations

_compute: Any = pc
_COMPARED = 30
"""So many concepts that have an answer are compared with each other."""
_FINE = 16
"""Steps of a weight for each bit of information: whole numbers, so that sums are exact on every machine."""


class SimilarConcepts:
    """All known triples as a graph without directions, in which concepts are compared by their neighbours.

    Triples of `preferences` are left out. The two ends of a triple that states synonyms are one concept; of further
    names of an end only the displayed one counts. Only names among `keys` can be asked for.
    """

    def __init__(
        self, tables: Sequence[Table[Any]], keys: Collection[str], rule: KnownRule, relations: SwapRelations
    ) -> None:
        left_out, classes = ({*map(compose_characters, names)} for names in (relations.preferences, relations.classes))
        firsts, seconds, numbers = (list[Any]([np.zeros(0, np.int64)]) for _ in range(3))
        self._relations: dict[str, int] = {}
        ends: list[Any] = []
        for table in tables:
            for piece in triple_columns(table):
                directed, synonyms, wanted = _read_relations(piece, rule, left_out, self._relations)
                numbers.append(np.where(synonyms, -1, directed)[wanted])
                mask = pa.array(wanted)
                ends += [
                    comparison_keys(combined_column(piece, end), rule.ignore).filter(mask) for end in ("head", "tail")
                ]
        encoded: Any = pa.chunked_array(ends, pa.string()).combine_chunks().dictionary_encode()
        self._names: Any = encoded.dictionary
        codes, start = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), 0
        for heads, tails in zip(ends[::2], ends[1::2], strict=True):
            firsts.append(codes[start : start + len(heads)])
            seconds.append(codes[start + len(heads) : start + len(heads) + len(tails)])
            start += len(heads) + len(tails)
        first, second, relation = map(np.concatenate, (firsts, seconds, numbers))
        same = _merged(len(self._names), first[relation < 0], second[relation < 0])
        first, second, relation = same[first[relation >= 0]], same[second[relation >= 0]], relation[relation >= 0]
        self._code_of = _codes_of(self._names, keys, same)
        self._edges = (first, second, relation)
        self._starts, self._ends = _neighbours(first, second, len(self._names))
        self._degrees = np.diff(self._starts)
        self._weights = (
            np.rint(_FINE * np.log2(max(len(self._names), 2) / np.maximum(self._degrees, 1))).astype(np.int64) ** 2
        )
        sums = np.concatenate([[0], np.cumsum(self._weights[self._ends])])
        self._norms = np.sqrt(np.maximum(sums[self._starts[1:]] - sums[self._starts[:-1]], 1))
        self._class_starts, self._classes = self._read_classes(classes)
        self._side_mask = lru_cache(4)(self._concepts_of)

    def similar_shares(
        self, concepts: Sequence[str], answers: Sequence[str], side: Side, bar: SimilarBar
    ) -> tuple[Any, Any]:
        """For each concept and answer, the similar share of the answer; for each answer, the share of all concepts."""
        mask = self._side_mask(side)
        codes = np.array([self._code_of.get(key, -1) for key in answers])
        used, places = np.unique(codes[codes >= 0], return_inverse=True)
        columns = np.full(len(self._names), -1)
        columns[used] = np.arange(len(used))
        found = np.zeros((len(concepts), len(used)), np.float32)
        for row, key in enumerate(concepts):
            others, weights = self._nearest(self._code_of.get(key, -1), mask, bar.nearest)
            if len(others):
                ends, lengths = self._all_neighbours(others)
                at = columns[ends]
                counted = np.bincount(at[at >= 0], np.repeat(weights, lengths)[at >= 0], minlength=len(used))
                found[row] = counted / weights.sum()
        every = np.array([np.count_nonzero(mask[self._of(code)]) for code in used.tolist()], float)
        shares, base = np.zeros((len(concepts), len(answers)), np.float32), np.zeros(len(answers))
        shares[:, codes >= 0] = found[:, places]
        base[codes >= 0] = (every / max(np.count_nonzero(mask), 1))[places]
        return shares, base

    def most_similar_with(self, concept: str, answer: str, side: Side, nearest: int) -> str:
        """The key of the most similar concept of `concept` that has `answer`; empty if none of the nearest has it."""
        others, weights = self._nearest(self._code_of.get(concept, -1), self._side_mask(side), nearest)
        having = self._of(self._code_of.get(answer, -1))
        with_it = np.isin(others, having)
        if not with_it.any():
            return ""
        best = others[with_it][weights[with_it] == weights[with_it].max()]
        return min(self._names.take(pa.array(best)).to_pylist())

    def is_well_known(self, concept: str, side: Side, bar: SimilarBar) -> bool:
        """Whether there are as many similar concepts as the bar asks, so that an answer that none has is unlikely."""
        return len(self._nearest(self._code_of.get(concept, -1), self._side_mask(side), bar.nearest)[0]) >= bar.nearest

    def lack_cohesion(self, answer: str, bar: CohesionBar) -> bool:
        """Whether so many concepts have an answer and have so little else in common that it says nothing of any."""
        code = self._code_of.get(answer, -1)
        holders = self._of(code)
        if np.count_nonzero(self._degrees[holders] > 1) < bar.holders:  # too little else is known of them
            return False
        if len(holders) > _COMPARED:
            holders = holders[np.linspace(0, len(holders) - 1, _COMPARED).astype(int)]
        ends, lengths = self._all_neighbours(holders)
        rows, others = np.repeat(np.arange(len(holders)), lengths), ends != code
        used, columns = np.unique(ends[others], return_inverse=True)
        having = np.zeros((len(holders), len(used)), np.int64)
        having[rows[others], columns] = 1
        weighed = having * self._weights[used]
        sums = np.maximum(weighed.sum(axis=1), 1)
        cosines = (weighed @ having.T) / np.sqrt(sums[:, None] * sums)
        np.fill_diagonal(cosines, 0)
        return float(cosines.sum()) < bar.least * len(holders) * (len(holders) - 1)

    def lack_class(self, answer: str, bar: SpreadBar) -> bool:
        """Whether the concepts that have an answer are of many classes, none of which leads."""
        classes, owners = self._classes_of(self._of(self._code_of.get(answer, -1)), bar.generic)
        _, counts = np.unique(classes, return_counts=True)
        return len(counts) >= bar.classes and int(counts.max()) < bar.leading * len(np.unique(owners))

    def class_shares(self, concepts: Sequence[str], answers: Sequence[str], bar: SpreadBar) -> Any:
        """For each concept and answer, the share of those that have the answer that are of a class of the concept.

        It is 1 for a concept without a class.
        """
        own = [frozenset(self._classes_of(np.array([self._code_of.get(key, -1)]), bar.generic)[0].tolist())
               for key in concepts]  # fmt: skip
        sets = sorted({*own}, key=sorted)
        rows = {classes: row for row, classes in enumerate(sets)}
        names = np.unique(self._classes)
        of_set = np.array([np.isin(names, sorted(classes)) for classes in sets], np.float32).reshape(-1, len(names))
        found = np.ones((len(sets), len(answers)), np.float32)
        for column, key in enumerate(answers):
            classes, owners = self._classes_of(self._of(self._code_of.get(key, -1)), bar.generic)
            holders, places = np.unique(owners, return_inverse=True)
            held = np.zeros((max(len(holders), 1), len(names)), np.float32)
            held[places, np.searchsorted(names, classes)] = 1
            shared = (held @ of_set.T > 0).mean(axis=0)
            found[:, column] = np.where(of_set.any(axis=1), shared, 1)
        return found[[rows[classes] for classes in own]]

    def _nearest(self, code: int, mask: Any, count: int) -> tuple[Any, Any]:
        """The concepts of a side that are most similar to one, and their similarities."""
        ends = self._of(code)
        near, lengths = self._all_neighbours(ends)
        others, places = np.unique(near, return_inverse=True)
        sums = np.bincount(places, np.repeat(self._weights[ends], lengths), len(others))
        kept = mask[others] & (others != code) & (sums > 0)
        others, cosines = others[kept], sums[kept] / (self._norms[others[kept]] * self._norms[code])
        if len(others) > count:
            nearest = cosines >= np.partition(cosines, -count)[-count]
            others, cosines = others[nearest], cosines[nearest]
        return others, cosines

    def _of(self, code: int) -> Any:
        """The neighbours of a concept; none for -1."""
        return self._ends[self._starts[code] : self._starts[code + 1]] if code >= 0 else self._ends[:0]

    def _all_neighbours(self, codes: Any) -> tuple[Any, Any]:
        """The neighbours of some concepts, one concept after the other, and how many each has."""
        parts = [self._of(code) for code in codes.tolist()]
        return (np.concatenate(parts) if parts else self._ends[:0]), np.array([len(part) for part in parts], np.int64)

    def _concepts_of(self, side: Side) -> Any:
        """Which names are concepts of a side of a relation."""
        first, second, relation = self._edges
        mask = np.zeros(len(self._names), bool)
        mask[(first if side.concept_first else second)[relation == self._relations.get(side.relation, -2)]] = True
        return mask

    def _read_classes(self, names: Collection[str]) -> tuple[Any, Any]:
        """The classes of each name: where they start, and the classes."""
        first, second, relation = self._edges
        of = np.isin(relation, [self._relations[name] for name in names if name in self._relations])
        pairs = np.unique(first[of] * len(self._names) + second[of])
        concepts, classes = np.divmod(pairs, max(len(self._names), 1))
        return np.searchsorted(concepts, np.arange(len(self._names) + 1)), classes

    def _classes_of(self, codes: Any, generic: Iterable[str]) -> tuple[Any, Any]:
        """The classes of some concepts that say something, and which of the concepts has each."""
        starts, stops = self._class_starts[codes[codes >= 0]], self._class_starts[codes[codes >= 0] + 1]
        places = [np.arange(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        classes = self._classes[np.concatenate(places)] if places else self._classes[:0]
        owners = np.repeat(np.arange(len(starts)), stops - starts)
        if not (names := frozenset(generic)):
            return classes, owners
        said = np.array([name not in names for name in self._names.take(pa.array(classes)).to_pylist()], bool)
        return classes[said], owners[said]


def _read_relations(
    piece: pa.Table, rule: KnownRule, left_out: Collection[str], numbers: dict[str, int]
) -> tuple[Any, Any, Any]:
    """For each triple the number of its relation, whether it states synonyms, and whether it counts."""
    encoded: Any = combined_column(piece, "relation").dictionary_encode()
    names = [compose_characters(name) for name in encoded.dictionary.to_pylist()]
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    plain = [rule.directed(name)[0] for name in names]
    found = np.array([numbers.setdefault(name, len(numbers)) for name in plain], np.int32)
    same = np.array([name in rule.synonyms for name in names], bool)
    wanted = np.array([not {name, bare} & {*left_out} for name, bare in zip(names, plain, strict=True)], bool)
    return found[codes], same[codes], wanted[codes]


def _merged(count: int, first: Any, second: Any) -> Any:
    """For each name the first one that is joined to it by synonyms."""
    same = np.arange(count)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    changed = bool(pairs)
    while changed:
        changed = False
        for one, two in pairs:
            low = min(same[one], same[two])
            if same[one] != low or same[two] != low:
                same[one] = same[two] = low
                changed = True
    return same


def _codes_of(names: Any, keys: Collection[str], same: Any) -> dict[str, int]:
    """The number of each key that is a name."""
    wanted = sorted(keys)
    found = _compute.index_in(pa.array(wanted, pa.string()), value_set=names).to_pylist()
    return {key: int(same[code]) for key, code in zip(wanted, found, strict=True) if code is not None}


def _neighbours(first: Any, second: Any, count: int) -> tuple[Any, Any]:
    """The different neighbours of each name: where they start, and the neighbours."""
    pairs = np.unique(np.concatenate([first * count + second, second * count + first]))
    owners, ends = np.divmod(pairs, max(count, 1))
    kept = owners != ends
    return np.searchsorted(owners[kept], np.arange(count + 1)), ends[kept]
