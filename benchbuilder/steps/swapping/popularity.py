"""How common the ends of facts are among the known triples: answers of many concepts, and concepts of many kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchbuilder.core import Table, combined_column
from benchbuilder.steps.language.columns import Scanner
from benchbuilder.steps.language.known_graph import Side, triple_text
from benchbuilder.steps.language.known_triples import triple_columns
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.names import NameForms
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
        searched = [forms.search_form(names[key]) for key in self._keys]
        self._scanner = Scanner([form if form.strip() else "" for form in searched])
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
        places, numbers = self._scanner.scan([self._forms.search_form(text) for text in texts])
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(texts) + 1))
        for place, number in sorted(set(zip(places.tolist(), numbers.tolist(), strict=True))):
            key = self._keys[number]
            kinds, name = self._kinds.get(key), self._forms.key(texts[place])
            if kinds is not None and name != key and len(kinds) < self._most_kinds:
                kinds.setdefault(name, texts[place])
            sides = self._sides.get(key, set())
            if any(len(self._holders.get((key, side), ())) < self._most_holders for side in sides):
                for row in piece.take(order[starts[place] : starts[place + 1]]).to_pylist():
                    self._add_holder(key, row, end, other)

    def _add_holder(self, key: str, row: Mapping[str, Any], end: str, other: str) -> None:
        side = self._counted(Side.of(row["relation"], end, self._spec.inverse_suffix))
        if side in self._sides[key]:
            found = self._holders.setdefault((key, side), {})
            if len(found) < self._most_holders:
                found.setdefault(self._forms.key(row[other]), triple_text(row["head"], row["relation"], row["tail"]))

    def _counted(self, side: Side) -> Side:
        """The side whose triples count."""
        return Side("", side.concept_first) if self._spec.bar.any_relation else side
