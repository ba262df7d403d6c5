"""How common the ends of facts are among the known triples: answers of many concepts, and concepts of many kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.core import Table, combined_column
from benchbuilder.steps.language.known_graph import Side, triple_text
from benchbuilder.steps.language.known_triples import triple_columns
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.names import NameForms, NamesInside
from benchbuilder.steps.swapping.spec import SwapTripleSpec

_ENDS = ("head", "tail")


class Popularity:
    """Which concepts have the answer of a fact, or an end that contains it; which names contain its concept.

    Names are compared as they are shown. The answer must be at the same end, in reading direction. With
    `any_relation` triples of all relations count. Of each answer and concept, no more are held than the limits need.
    """

    def __init__(
        self, tables: Sequence[Table[Any]], facts: Iterable[SwapFact], spec: SwapTripleSpec, forms: NameForms
    ) -> None:
        self._spec, self._forms = spec, forms
        self._most_holders = 0 if spec.bar.popular_answer is None else spec.bar.popular_answer + 1
        self._most_kinds = 0 if spec.bar.general_concept is None else spec.bar.general_concept + 1
        names: dict[str, str] = {}
        self._sides: dict[str, set[Side]] = {}
        self._holders: dict[tuple[str, Side], dict[str, str]] = {}
        self._kinds: dict[str, dict[str, str]] = {}
        for fact in facts:
            if self._most_holders:
                names[fact.answer_key] = fact.answer
                self._sides.setdefault(fact.answer_key, set()).add(self._counted(fact.side))
            if self._most_kinds:
                names[fact.concept_key] = fact.concept
                self._kinds[fact.concept_key] = {}
        self._keys = sorted(names)
        self._inside = NamesInside([names[key] for key in self._keys], forms)
        for table in tables if names else ():
            for piece in triple_columns(table):
                for end, other in (_ENDS, _ENDS[::-1]):
                    self._count(piece, end, other)

    def holders(self, fact: SwapFact) -> Mapping[str, str]:
        """The concepts that have the answer of a fact, each with a triple; one more than allowed if there are more."""
        return self._holders.get((fact.answer_key, self._counted(fact.side)), {})

    def kinds(self, fact: SwapFact) -> Mapping[str, str]:
        """The names that contain the concept of a fact; one more than allowed if there are more."""
        return self._kinds.get(fact.concept_key, {})

    def _count(self, piece: pa.Table, end: str, other: str) -> None:
        """Add the triples whose `end` contains a name that is searched."""
        encoded: Any = combined_column(piece, end).dictionary_encode()
        texts: list[str] = encoded.dictionary.to_pylist()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(texts) + 1)).tolist()
        triples = _Triples(piece, self._forms.keys(combined_column(piece, other)))
        found = ((place, number) for place, text in enumerate(texts) for number in self._inside.numbers(text))
        for place, key in ((place, self._keys[number]) for place, number in found):
            kinds = self._kinds.get(key)
            if kinds is not None and len(kinds) < self._most_kinds and (name := self._forms.key(texts[place])) != key:
                kinds.setdefault(name, texts[place])
            for row in order[starts[place] : starts[place + 1]].tolist():
                if self._has_holders(key):
                    break
                self._add_holder(key, triples, row, end)

    def _has_holders(self, key: str) -> bool:
        """Whether no more concepts that have an answer need to be known."""
        return all(len(self._holders.get((key, side), ())) >= self._most_holders for side in self._sides.get(key, ()))

    def _add_holder(self, key: str, triples: _Triples, row: int, end: str) -> None:
        side = self._counted(triples.side(row, end, self._spec.inverse_suffix))
        if side in self._sides[key]:
            found = self._holders.setdefault((key, side), {})
            if len(found) < self._most_holders:
                found.setdefault(triples.holders[row], triples.text(row))

    def _counted(self, side: Side) -> Side:
        """The side whose triples count."""
        return Side("", side.concept_first) if self._spec.bar.any_relation else side


class _Triples:
    """The triples of a piece by row, and the key of the name at one end of each."""

    def __init__(self, piece: pa.Table, holders: pa.Array[Any]) -> None:
        columns: list[Any] = [combined_column(piece, name) for name in ("head", "relation", "tail")] + [holders]
        texts: list[list[str]] = [column.to_pylist() for column in columns]
        self._heads, self._relations, self._tails, self.holders = texts

    def side(self, row: int, end: str, inverse_suffix: str) -> Side:
        """The side of a triple whose answer is at `end`."""
        return Side.of(self._relations[row], end, inverse_suffix)

    def text(self, row: int) -> str:
        """A triple as people see it."""
        return triple_text(self._heads[row], self._relations[row], self._tails[row])
