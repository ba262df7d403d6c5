"""Joins relations between concepts, by column, with the names of relations, concepts and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import constant_column, content_digests
from benchbuilder.sources.columnar.cells import Cells, IdCollector, IdIndex, Mask, Places
from benchbuilder.sources.columnar.columns import ColumnBatch
from benchbuilder.sources.columnar.duplicates import Digests, Drops
from benchbuilder.sources.columnar.id_names import NamesById

_compute: Any = pc
_CHUNK = 1_000_000
_ENDS = ("head", "tail")


def type_ids(types: NamesById | None) -> IdIndex:
    """The ids of the types of concepts."""
    gathered = IdCollector()
    for texts in _pieces(types.texts if types is not None else pa.array([], pa.large_string())):
        gathered.add(Cells.from_arrow(texts))
    return gathered.to_index()


def _pieces(texts: Any) -> list[Any]:
    return [texts.slice(start, _CHUNK) for start in range(0, len(texts), _CHUNK)]


class TypeNames:
    """The names of the types of concepts, by the number of the concept."""

    def __init__(self, types: NamesById, kinds: IdIndex, names: NamesById) -> None:
        kind = np.concatenate(
            [np.zeros(0, np.int64), *(kinds.find(Cells.from_arrow(texts)) for texts in _pieces(types.texts))]
        )
        count = len(types.begin) - 1
        self._names = names
        self._kinds = np.full(count, -1, np.int32)
        typed = np.flatnonzero(types.counts(np.arange(count)) > 0)
        self._kinds[typed] = kind[types.order[types.begin[typed]]]

    def names_of(self, concepts: Places) -> Any:
        """The name of the type of each concept, or ""."""
        return self._names.first_names_or_empty(self._kinds[concepts].astype(np.int64))


class TripleJoiner:
    """Makes triples of relations with the names of their concepts."""

    def __init__(
        self,
        concepts: IdIndex,
        relations: IdIndex,
        relation_names: NamesById,
        terms: NamesById,
        type_names: TypeNames | None,
        *,
        title: bool,
    ) -> None:
        self._concepts, self._relations = concepts, relations
        self._named, self._terms, self._typed = relation_names, terms, type_names
        self._title = title

    def triples(self, batch: ColumnBatch) -> tuple[Drops, Places, Mapping[str, Any], Digests]:
        """Join some relations.

        Returns:
            The drops, the positions of the other relations, the columns of their triples, and hashes of their contents.
        """
        drops, (head, relation, tail), places = dict(batch.problems), batch.cells, batch.valid_places
        wrong = _drop_empty(drops, places, head, relation, tail)
        wrong |= _drop_where(drops, places, ~wrong & head.equal(tail), "head_equals_tail", head.text)
        numbers = self._relations.find(relation)
        unnamed = ~wrong & (self._named.counts(numbers) == 0)
        wrong |= _drop_where(drops, places, unnamed, "unnamed_relation", relation.text)
        ends = [self._concepts.find(end) for end in (head, tail)]
        without = [self._terms.counts(end) == 0 for end in ends]

        def unnamed_ends(row: int) -> str:
            return ", ".join(f"{_ENDS[n]} {cells.text(row)}" for n, cells in enumerate((head, tail)) if without[n][row])

        wrong |= _drop_where(drops, places, ~wrong & (without[0] | without[1]), "no_term", unnamed_ends)
        places, numbers, heads, tails = (column[~wrong] for column in (places, numbers, *ends))
        head_terms, tail_terms = self._display_terms(self._terms.first_names(heads)), self._terms.first_names(tails)
        equal = _compute.equal(head_terms, tail_terms).to_numpy(zero_copy_only=False)
        if _drop_where(drops, places, equal, "head_equals_tail", lambda row: head_terms[row].as_py()).any():
            places, numbers, heads, tails = (column[~equal] for column in (places, numbers, heads, tails))
            head_terms, tail_terms = (terms.filter(pa.array(~equal)) for terms in (head_terms, tail_terms))
        texts = {"head": head_terms, "relation": self._named.first_names(numbers), "tail": tail_terms}
        return drops, places, self._fields(texts, heads, tails), content_digests([*texts.values()])

    def _fields(self, texts: Mapping[str, Any], heads: Places, tails: Places) -> Mapping[str, Any]:
        """The columns of facts."""
        count = len(heads)
        types = [
            self._typed.names_of(end) if self._typed is not None else constant_column("", count)
            for end in (heads, tails)
        ]
        payload = {
            **texts, "head_type": types[0], "tail_type": types[1],
            "head_terms": self._head_terms(texts["head"], heads), "tail_terms": _list(*self._terms.all_names(tails)),
        }  # fmt: skip
        return {
            "payload": pa.StructArray.from_arrays([*payload.values()], [*payload]),
            "original": constant_column("", count),
        }

    def _display_terms(self, terms: Any) -> Any:
        return pa.array([term.title() for term in terms.to_pylist()], pa.string()) if self._title else terms

    def _head_terms(self, shown: Any, heads: Places) -> Any:
        """The terms of each head, the displayed one first."""
        begin, terms = self._terms.all_names(heads)
        if not self._title:
            return _list(begin, terms)
        count = len(heads)
        owners = np.repeat(np.arange(count), np.diff(begin))
        others = _compute.not_equal(terms, shown.take(pa.array(owners))).to_numpy(zero_copy_only=False)
        owners = np.concatenate([np.arange(count), owners[others]])
        order = np.argsort(owners, kind="stable")
        begin = np.concatenate([np.zeros(1, int), np.cumsum(np.bincount(owners, minlength=count))])
        return _list(begin, pa.concat_arrays([shown, terms.filter(pa.array(others))]).take(pa.array(order)))


def _list(begin: Any, texts: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(begin.astype(np.int32)), texts)


def _drop_empty(drops: Drops, places: Places, *cells: Cells) -> Mask:
    """Drop relations without an end or a name."""
    empty = dict(zip(("head", "relation", "tail"), (column.is_empty for column in cells), strict=True))
    wrong = empty["head"] | empty["relation"] | empty["tail"]
    return _drop_where(
        drops, places, wrong, "missing_field", lambda row: " ".join(name for name, mask in empty.items() if mask[row])
    )


def _drop_where(drops: Drops, places: Places, wrong: Mask, reason: str, detail: Callable[[int], str]) -> Mask:
    """Drop the relations of the mask `wrong`."""
    for row in np.flatnonzero(wrong).tolist():
        drops[int(places[row])] = (reason, detail(row))
    return wrong
