"""The known triples near some concepts: who is called what, and which ends a concept has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, combined_column, comparison_key, compose_characters
from benchbuilder.steps.language.known_triples import directed_edge, triple_columns, triples_touching

_compute: Any = pc


@dataclass(frozen=True)
class KnownRule:
    """How known triples are read: the characters that names ignore, the suffix of inverse relations, and the relations
    that state synonyms."""

    ignore: str
    inverse_suffix: str
    synonyms: frozenset[str]


@dataclass(frozen=True)
class Edge:
    """A known triple in reading direction: the keys of all names of both ends, and the text that people see."""

    first: frozenset[str]
    relation: str
    second: frozenset[str]
    text: str


@dataclass(frozen=True)
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
        self._rule = rule
        self.triples = triples
        self.edges: list[Edge] = []
        self._at: dict[str, list[int]] = {}
        self._same: dict[str, set[str]] = {}
        self._spelled: dict[str, str] = {}
        seen = set[tuple[frozenset[str], str, frozenset[str]]]()
        for batch in triples.to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                self._read(row, seen)
        self.synonyms = lru_cache(maxsize=None)(self._synonyms)
        self.linked = lru_cache(maxsize=None)(self._linked)

    @classmethod
    def around(
        cls,
        tables: Sequence[Table[Any]],
        keys: Collection[str],
        sides: Mapping[str, Collection[Side]],
        rule: KnownRule,
        chains: Mapping[str, Collection[Side]] | None = None,
    ) -> KnownGraph:
        """The triples of the concepts `keys`, of their synonyms, and of the concepts that have them as an answer.

        Args:
            tables: Tables of known triples.
            keys: The keys of the concepts.
            sides: For some keys, the sides of the relations that they answer.
            rule: How triples are read.
            chains: For some keys, the sides on which the ends of their ends are needed too.
        """
        near = cls(_touching(tables, keys, rule), rule)
        wider = {name for key in keys for name in near.synonyms(key)}
        for key, wanted in sides.items():
            for side in wanted:
                wider.update(name for number in near.holders(key, side) for name in near.concept_names(number, side))
        wider |= set(keys)
        graph = near if wider == set(keys) else cls(_touching(tables, wider, rule), rule)
        while chains:
            reached = {
                name for key, wanted in chains.items() for side in wanted for name in graph.chained_ends(key, side)
            }
            if reached <= wider:
                break
            wider |= reached
            graph = cls(_touching(tables, wider, rule), rule)
        return graph

    def _read(self, row: Mapping[str, Any], seen: set[tuple[frozenset[str], str, frozenset[str]]]) -> None:
        rule = self._rule
        heads, tails = (self._keys(row[end], *row[f"{end}_terms"]) for end in ("head", "tail"))
        relation = compose_characters(row["relation"])
        for names in (heads | tails,) if relation in rule.synonyms else (heads, tails):
            for name in names:
                self._same.setdefault(name, set()).update(names)
        first, second, forward = directed_edge(heads, relation, tails, rule.inverse_suffix)
        edge = Edge(frozenset(first), forward, frozenset(second), triple_text(row["head"], relation, row["tail"]))
        if (edge.first, forward, edge.second) in seen:
            return
        seen.add((edge.first, forward, edge.second))
        for name in first | second:
            self._at.setdefault(name, []).append(len(self.edges))
        self.edges.append(edge)

    def _keys(self, *names: str) -> set[str]:
        keys = set[str]()
        for name in names:
            key = comparison_key(name, self._rule.ignore)
            self._spelled[key] = min(name, self._spelled.get(key, name))
            keys.add(key)
        return keys

    def spelled(self, key: str) -> str:
        """A name as it is spelled, of its key."""
        return self._spelled.get(key, key)

    def _synonyms(self, key: str) -> frozenset[str]:
        near = self._same.get(key, {key})
        return frozenset(near.union(*(self._same.get(name, {name}) for name in near)))

    def _edges_of(self, names: Iterable[str]) -> list[int]:
        return sorted({number for name in names for number in self._at.get(name, ())})

    def concept_names(self, number: int, side: Side) -> frozenset[str]:
        """The names of the concept of an edge of that side."""
        return self.edges[number].first if side.concept_first else self.edges[number].second

    def answer_names(self, number: int, side: Side) -> frozenset[str]:
        """The names of the answer of an edge of that side."""
        return self.edges[number].second if side.concept_first else self.edges[number].first

    def holders(self, key: str, side: Side) -> list[int]:
        """The edges of that side whose answer is `key` by any synonym."""
        names = self.synonyms(key)
        return [
            number for number in self._edges_of(names)
            if self.edges[number].relation == side.relation and not names.isdisjoint(self.answer_names(number, side))
        ]  # fmt: skip

    def ends(self, key: str, side: Side) -> dict[str, int]:
        """The names of the known ends of a concept in a relation, each with its edge."""
        names = self.synonyms(key)
        found: dict[str, int] = {}
        for number in self._edges_of(names):
            if self.edges[number].relation == side.relation and not names.isdisjoint(self.concept_names(number, side)):
                for end in self.answer_names(number, side):
                    found.setdefault(end, number)
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
        names = self.synonyms(key)
        found: dict[str, int] = {}
        for number in self._edges_of(names):
            edge = self.edges[number]
            for own, other in ((edge.first, edge.second), (edge.second, edge.first)):
                if not names.isdisjoint(own):
                    for end in other:
                        found.setdefault(end, number)
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
