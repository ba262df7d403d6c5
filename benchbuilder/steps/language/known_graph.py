"""The known triples near some concepts: who is called what, and which ends a concept has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, combined_column, compose_characters
from benchbuilder.steps.language.known_edges import KnownEdges, KnownRule
from benchbuilder.steps.language.known_triples import triple_columns, triples_touching

_compute: Any = pc
_REMEMBERED = 1 << 16
"""Names of which the synonyms and links are held; those of a block of facts are fewer."""


@dataclass(frozen=True, slots=True)
class Side:
    """One end of a relation, in reading direction: the end at which its concept is."""

    relation: str
    concept_first: bool

    @classmethod
    def of(cls, relation: str, answer_end: str, inverse_suffix: str) -> Side:
        """The side of the concept, for a relation as a table names it and the end that holds the answer."""
        inverse = bool(inverse_suffix) and relation.endswith(inverse_suffix)
        stripped = relation.removesuffix(inverse_suffix) if inverse else relation
        return cls(compose_characters(stripped), (answer_end == "tail") != inverse)


class KnownGraph:
    """Known triples, indexed by the keys of names.

    The synonyms of a name are all names of every end that has it, and all names of every end that has one of these.
    The two ends of a triple of a synonym relation are one concept.
    """

    def __init__(self, triples: pa.Table, rule: KnownRule) -> None:
        self.triples = triples
        self._edges = KnownEdges(triples, rule)
        self.synonyms = lru_cache(_REMEMBERED)(self._synonyms)
        self.linked = lru_cache(_REMEMBERED)(self._linked)

    @classmethod
    def around(
        cls,
        tables: Sequence[Table[Any]],
        keys: Collection[str],
        rule: KnownRule,
        chains: Mapping[str, Collection[Side]] | None = None,
    ) -> KnownGraph:
        """The triples of the concepts `keys` and of their synonyms.

        Args:
            tables: Tables of known triples.
            keys: The keys of the concepts.
            rule: How triples are read.
            chains: For some keys, the sides on which the ends of their ends are needed too.
        """
        near = cls(_touching(tables, keys, rule), rule)
        wider = {name for key in keys for name in near.synonyms(key)}
        wider |= set(keys)
        graph = near
        del near
        if wider != set(keys):
            del graph
            graph = cls(_touching(tables, wider, rule), rule)
        while chains:
            reached = {
                name for key, wanted in chains.items() for side in wanted for name in graph.chained_ends(key, side)
            }
            if reached <= wider:
                break
            wider |= reached
            graph = cls(_touching(tables, wider, rule), rule)
        return graph

    def edge_text(self, number: int) -> str:
        """An edge as people see it: the triple."""
        row = self.triples.slice(self._edges.rows[number], 1).select(["head", "relation", "tail"]).to_pylist()[0]
        return triple_text(row["head"], compose_characters(row["relation"]), row["tail"])

    def spelled(self, key: str) -> str:
        """A name as it is spelled, of its key."""
        number = self._edges.numbers.get(key)
        return key if number is None else self._edges.spelled[number]

    def _synonyms(self, key: str) -> frozenset[str]:
        same = self._edges.same
        near = same.get(key, frozenset((key,)))
        return near.union(*(same.get(name, (name,)) for name in near))

    def _numbers(self, key: str) -> frozenset[int]:
        """The numbers of the synonyms of a name."""
        numbers = self._edges.numbers
        return frozenset(numbers[name] for name in self.synonyms(key) if name in numbers)

    def concept_names(self, number: int, side: Side) -> frozenset[str]:
        """The names of the concept of an edge of that side."""
        return frozenset(self._edges.keys[name] for name in self._both(number, side)[0])

    def _both(self, number: int, side: Side) -> tuple[Sequence[int], Sequence[int]]:
        """The names of the concept and of the answer of an edge of that side."""
        first, second = self._edges.first(number), self._edges.second(number)
        return (first, second) if side.concept_first else (second, first)

    def _of_side(self, names: Set[int], side: Side) -> Iterator[tuple[int, Sequence[int], Sequence[int]]]:
        """The edges of that side with one of some names, each with the names of its concept and of its answer."""
        relation = self._edges.relations.get(side.relation, -1)
        for number in self._edges.having(names):
            if self._edges.relation(number) == relation:
                yield number, *self._both(number, side)

    def holders(self, key: str, side: Side) -> list[int]:
        """The edges of that side whose answer is `key` by any synonym."""
        names = self._numbers(key)
        return [number for number, _, answer in self._of_side(names, side) if not names.isdisjoint(answer)]

    def ends(self, key: str, side: Side) -> dict[str, int]:
        """The names of the known ends of a concept in a relation, each with its edge."""
        names = self._numbers(key)
        found: dict[str, int] = {}
        for number, concept, answer in self._of_side(names, side):
            if not names.isdisjoint(concept):
                for end in answer:
                    found.setdefault(self._edges.keys[end], number)
        return found

    def chained_ends(self, key: str, side: Side) -> dict[str, int]:
        """The names of the known ends of a concept, of their ends and so on, each with its edge."""
        found = self.ends(key, side)
        waiting = sorted(found)
        while waiting:
            for end, number in self.ends(waiting.pop(), side).items():
                if end not in found:
                    found[end] = number
                    waiting.append(end)
        return found

    def _linked(self, key: str) -> dict[str, int]:
        """The names of what a concept is linked to by any relation in either direction, each with its edge."""
        names = self._numbers(key)
        found: dict[str, int] = {}
        for number in self._edges.having(names):
            first, second = self._edges.first(number), self._edges.second(number)
            for own, other in ((first, second), (second, first)):
                if not names.isdisjoint(own):
                    for end in other:
                        found.setdefault(self._edges.keys[end], number)
        return found


def _touching(tables: Sequence[Table[Any]], keys: Collection[str], rule: KnownRule) -> pa.Table:
    return pa.concat_tables([triples_touching(table, keys, rule.ignore) for table in tables])


def triple_text(head: str, relation: str, tail: str) -> str:
    """A triple as details show it."""
    return f"{head} | {relation} | {tail}"


def functionality(table: Table[Any], relations: Collection[str]) -> dict[str, float]:
    """For each relation, its different heads by its triples: 1 if no head has two tails."""
    pieces = [
        piece.select(["relation", "head"]).filter(
            _compute.is_in(combined_column(piece, "relation"), value_set=pa.array(sorted(relations), pa.string()))
        )
        for piece in triple_columns(table)
    ]
    if not pieces:
        return {}
    by_head = pa.concat_tables(pieces).group_by(["relation", "head"], use_threads=False).aggregate([([], "count_all")])
    found = by_head.group_by("relation", use_threads=False).aggregate([("count_all", "sum"), ([], "count_all")])
    columns = (found.column(name).to_pylist() for name in ("relation", "count_all", "count_all_sum"))
    return {name: round(heads / triples, 3) for name, heads, triples in sorted(zip(*columns, strict=True))}
