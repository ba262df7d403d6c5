"""Known triples as numbers: the names of their ends, the sets of names that one end has, and edges between two sets."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import combined_column, compose_characters
from benchbuilder.steps.language.columns import comparison_keys

_compute: Any = pc
_BATCH = 16_384


@dataclass(frozen=True)
class KnownRule:
    """How known triples are read: the characters that names ignore, the suffix of inverse relations, and the relations
    that state synonyms."""

    ignore: str
    inverse_suffix: str
    synonyms: frozenset[str]

    def directed(self, relation: str) -> tuple[str, bool]:
        """A relation in reading direction, and whether it is the inverse that a table names."""
        composed = compose_characters(relation)
        if self.inverse_suffix and composed.endswith(self.inverse_suffix):
            return composed.removesuffix(self.inverse_suffix), True
        return composed, False


class KnownEdges:
    """The different edges of triples in reading direction, numbered in the order of the triples.

    Names are numbered. `keys` has the key of each, `spelled` the first of its spellings in the order of characters, and
    `same` all names of all ends that have a name, where there are more. `rows` has the triple of each edge.
    """

    def __init__(self, triples: pa.Table, rule: KnownRule) -> None:
        self._rule = rule
        self.numbers: dict[str, int] = {}
        self.keys: list[str] = []
        self.spelled: list[str] = []
        self.same: dict[str, frozenset[str]] = {}
        self.relations: dict[str, int] = {}
        self._several: list[tuple[int, ...]] = []
        self._sets: dict[tuple[int, ...], int] = {}
        self._shared: dict[frozenset[str], frozenset[str]] = {}
        pieces = [np.zeros((3, 0), np.int64)]
        pieces += [self._read(triples.slice(start, _BATCH)) for start in range(0, triples.num_rows, _BATCH)]
        del self._sets, self._shared
        self._number(np.concatenate(pieces, axis=1))

    def having(self, names: Iterable[int]) -> list[int]:
        """The edges with one of some names at either end, in order."""
        starts, edges = self._starts, self._edges
        return sorted({edge for name in names for edge in edges[starts[name] : starts[name + 1]].tolist()})

    def first(self, edge: int) -> Sequence[int]:
        """The names of the first end of an edge."""
        return self._names_of(self._first[edge])

    def second(self, edge: int) -> Sequence[int]:
        """The names of the second end of an edge."""
        return self._names_of(self._second[edge])

    def relation(self, edge: int) -> int:
        """The relation of an edge."""
        return self._relation[edge]

    def _names_of(self, names: int) -> Sequence[int]:
        return (names,) if names >= 0 else self._several[-1 - names]

    def _read(self, triples: pa.Table) -> Any:
        """First end, relation and second end of some triples, as numbers; sets of several names are negative ones."""
        heads, tails = (self._ends(triples, end) for end in ("head", "tail"))
        encoded: Any = combined_column(triples, "relation").dictionary_encode()
        named: list[str] = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        directed = [self._rule.directed(name) for name in named]
        numbers = [self.relations.setdefault(relation, len(self.relations)) for relation, _ in directed]
        inverse = np.array([is_inverse for _, is_inverse in directed], bool)[codes]
        stating = np.array([compose_characters(name) in self._rule.synonyms for name in named], bool)[codes]
        for row in np.flatnonzero(stating).tolist():
            self._hold_same({*self._names_of(int(heads[row])), *self._names_of(int(tails[row]))})
        first, second = np.where(inverse, tails, heads), np.where(inverse, heads, tails)
        return np.stack([first, np.array(numbers, np.int64)[codes], second])

    def _ends(self, triples: pa.Table, end: str) -> Any:
        """The name or the set of names of one end of some triples."""
        found = self._numbered(combined_column(triples, end))
        lists: Any = combined_column(triples, f"{end}_terms")
        terms = self._numbered(lists.flatten())
        if len(terms):
            lengths = _compute.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
            stops = np.cumsum(lengths)
            for row in np.flatnonzero(lengths).tolist():
                names = {int(found[row]), *terms[stops[row] - lengths[row] : stops[row]].tolist()}
                if len(names) > 1:
                    found[row] = self._set_of(names)
        return found

    def _numbered(self, column: Any) -> Any:
        """The numbers of some names; new ones are added."""
        numbers, keys, spelled, found = self.numbers, self.keys, self.spelled, array("q")
        texts: Iterable[str] = column.to_pylist()
        read: Any = comparison_keys(column, self._rule.ignore)
        for name, key in zip(texts, read.to_pylist(), strict=True):
            number = numbers.get(key)
            if number is None:
                number = len(keys)
                keys.append(name if name == key else key)
                numbers[keys[-1]] = number
                spelled.append(name)
            elif name < spelled[number]:
                spelled[number] = name
            found.append(number)
        return np.array(found, np.int64)

    def _set_of(self, names: set[int]) -> int:
        ordered = tuple(sorted(names))
        if (found := self._sets.get(ordered)) is None:
            found = self._sets[ordered] = -1 - len(self._several)
            self._several.append(ordered)
            self._hold_same(names)
        return found

    def _hold_same(self, numbers: set[int]) -> None:
        names = {self.keys[number] for number in numbers}
        for name in names if len(names) > 1 else ():
            every = frozenset(self.same.get(name, frozenset()) | names)
            self.same[name] = self._shared.setdefault(every, every)

    def _number(self, read: Any) -> None:
        """Number the different edges, and find those of each name."""
        order = np.lexsort(read)
        is_new = np.ones(len(order), bool)
        is_new[1:] = (read[:, order[1:]] != read[:, order[:-1]]).any(axis=0)
        self.rows = np.sort(order[is_new])
        first, relation, second = (np.ascontiguousarray(column[self.rows], np.int32) for column in read)
        names, edges = zip(*(self._places(ends) for ends in (first, second)), strict=True)
        order = np.argsort(np.concatenate(names), kind="stable")
        self._edges = np.concatenate(edges)[order].data
        counts = np.bincount(np.concatenate(names), minlength=len(self.keys))
        self._starts = np.concatenate([[0], np.cumsum(counts)]).data
        self._first, self._relation, self._second = first.data, relation.data, second.data

    def _places(self, ends: Any) -> tuple[Any, Any]:
        """Each name of an end of the edges, and its edge."""
        numbers = np.arange(len(ends), dtype=np.int32)
        single = ends >= 0
        several = [(name, edge) for edge in numbers[~single].tolist() for name in self._names_of(int(ends[edge]))]
        names, edges = np.array(several, np.int32).reshape(-1, 2).T
        return np.concatenate([ends[single], names]), np.concatenate([numbers[single], edges])
