"""The bars of pairs, for all pairs of a block of facts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.meeting import from_bits, has_bit, meeting, to_bits
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED, relatedness
from benchbuilder.steps.swapping.spec import SwapBars

PAIR_BARS = (
    "known_end", "known_elsewhere", "near_known", "kin_has_it", "plausible", "together_in_text", "shares_letters",
    "heads_alike", "answers_alike",
)  # fmt: skip
"""The bars of pairs, in the order in which they are reported."""
_STRIP = 64
"""Columns of a table that are turned at once: those of a line of the processor's cache."""


class PairBars:
    """The bars between the concepts and the answers of facts that have one relation, form and type of answer.

    `marks` has, for each bar that is on, its pairs of a concept and an answer as bits.
    """

    def __init__(
        self, facts: Sequence[SwapFact], bar: SwapBars, forms: NameForms, graph: KnownGraph, mentions: Mentions | None,
        *, functional: bool, transitive: bool,
    ) -> None:  # fmt: skip
        self.facts = facts
        self._bar, self._forms, self._graph, self._mentions = bar, forms, graph, mentions
        self._guesses, self._transitive = not functional, transitive
        self._side: Side = facts[0].side
        self.concepts = _numbered((fact.concept_key, fact.concept) for fact in facts)
        self.answers = _numbered((fact.answer_key, fact.answer) for fact in facts)
        concept_rows = {key: row for row, (key, _) in enumerate(self.concepts)}
        answer_rows = {key: row for row, (key, _) in enumerate(self.answers)}
        self.concept_of = np.array([concept_rows[fact.concept_key] for fact in facts])
        self.answer_of = np.array([answer_rows[fact.answer_key] for fact in facts])
        self._ends = [self._own_and(graph.ends, key) for key, _ in self.concepts]
        self._linked = [graph.linked(key) for key, _ in self.concepts]
        self.marks = dict(self._marked())
        self.related = self._relate()

    def allowed(self) -> Any:
        """For each pair of facts, whether they may exchange their answers."""
        barred = np.zeros((len(self.concepts), -(-len(self.answers) // 8)), np.uint8)
        for bits in self.marks.values():
            barred |= bits
        free = _of_facts(from_bits(~barred, len(self.answers)), self.concept_of, self.answer_of)
        both = free.copy()
        for start in range(0, len(free), _STRIP):
            strip = slice(start, start + _STRIP)
            both[strip] &= free[:, strip].T
        alike = self._alike(self.concepts)
        if self._bar.related is not None:
            alike |= self.related > self._bar.related * FULLY_RELATED
        both &= _of_facts(~alike, self.concept_of, self.concept_of)
        both &= _of_facts(~self._alike(self.answers), self.answer_of, self.answer_of)
        return both

    def bar_of(self, row: int, other: int) -> str | None:
        """The first bar between the concept of a fact and the answer of another one."""
        concept, answer = int(self.concept_of[row]), int(self.answer_of[other])
        return next((name for name, bits in self.marks.items() if has_bit(bits, concept, answer)), None)

    def _relate(self) -> Any:
        """For each pair of concepts, how related they are by all their names and those of what they are linked to."""
        columns, graph = self._forms.columns, self._graph
        return relatedness([
            {column for name in (*graph.synonyms(key), *linked) for column in columns(graph.spelled(name))}
            for (key, _), linked in zip(self.concepts, self._linked, strict=True)
        ])  # fmt: skip

    def _marked(self) -> Iterator[tuple[str, Any]]:
        bar = self._bar
        steps: list[tuple[str, bool, Callable[[], Any]]] = [
            ("known_end", bar.known, lambda: self._mark_known(self._known_ends())),
            ("known_elsewhere", bar.known and bar.any_relation, lambda: self._mark_known(self._linked)),
            ("near_known", bar.near_known != "none", self._mark_near_known),
            ("kin_has_it", bar.kin != "none" and self._guesses, self._mark_kin),
            ("plausible", bar.plausible is not None and self._guesses, self._mark_plausible),
            ("together_in_text", bar.together and self._guesses, self._mark_together),
            ("shares_letters", bar.shared_letters == "both_sides", self._mark_shared_letters),
        ]
        return ((name, mark()) for name, is_on, mark in steps if is_on)

    def _known_ends(self) -> Sequence[Mapping[str, int]]:
        return [self.known_ends(key) for key, _ in self.concepts] if self._transitive else self._ends

    def known_ends(self, key: str) -> dict[str, int]:
        """The known ends of a concept in the relation (with theirs, if it is transitive), and its own names."""
        return self._own_and(self._graph.chained_ends if self._transitive else self._graph.ends, key)

    def _own_and(self, ends: Callable[[str, Side], dict[str, int]], key: str) -> dict[str, int]:
        return {**ends(key, self._side), **dict.fromkeys(self._graph.synonyms(key), -1)}

    def _barring_ends(self) -> list[Mapping[str, int]]:
        if not self._bar.any_relation:
            return [*self._ends]
        return [{**ends, **linked} for ends, linked in zip(self._ends, self._linked, strict=True)]

    def _mark_known(self, ends: Sequence[Mapping[str, int]]) -> Any:
        return meeting(ends, [self._graph.synonyms(key) for key, _ in self.answers])

    def _mark_near_known(self) -> Any:
        ends = [{self._graph.spelled(end) for end in ends} for ends in self._barring_ends()]
        return self._forms.near(ends, [self._spelled_names(key) for key, _ in self.answers], self._bar.near_known)

    def _spelled_names(self, key: str) -> list[str]:
        return sorted({self._graph.spelled(name) for name in self._graph.synonyms(key)})

    def holder_names(self, key: str) -> dict[str, int]:
        """The names of the concepts that have an answer, in the relation or (with `any_relation`) in any."""
        graph, side = self._graph, self._side
        if self._bar.any_relation:
            return graph.linked(key)
        return {name: number for number in graph.holders(key, side) for name in graph.concept_names(number, side)}

    def _mark_kin(self) -> Any:
        relatives = [self._spelled_names(key) for key, _ in self.concepts]
        holders = [{self._graph.spelled(name) for name in self.holder_names(key)} for key, _ in self.answers]
        return self._forms.near(relatives, holders, self._bar.kin)

    def voters(self, key: str) -> dict[str, int]:
        """The concepts that have an answer in the relation, each by one of its names, with the edge that says so."""
        found: dict[str, int] = {}
        for number in self._graph.holders(key, self._side):
            found.setdefault(min(self._graph.concept_names(number, self._side)), number)
        return found

    def _mark_plausible(self) -> Any:
        voters = [self.voters(key) for key, _ in self.answers]
        if not self._bar.plausible:  # any vote bars
            return meeting(
                self._linked, [{end for name in names for end in self._graph.linked(name)} for names in voters]
            )
        votes = np.zeros((len(self.answers), len(self.concepts)), np.float32)
        sizes = np.sqrt([max(len(linked), 1) for linked in self._linked])
        rows = {name: np.array(found) for name, found in _index(self._linked).items()}
        cosines: dict[str, tuple[Any, Any]] = {}
        for cast, names in zip(votes, voters, strict=True):
            for voter in names:
                if voter not in cosines:
                    ends = self._graph.linked(voter)
                    shared = [rows[end] for end in ends if end in rows]
                    counts = np.bincount(np.concatenate(shared) if shared else np.zeros(0, np.int64),
                                         minlength=len(self.concepts))  # fmt: skip
                    related = np.flatnonzero(counts)
                    cosines[voter] = related, counts[related] / (sizes[related] * max(len(ends), 1) ** 0.5)
                related, cosine = cosines[voter]
                cast[related] += cosine
        return to_bits((votes > self._bar.plausible).T)

    def _mark_together(self) -> Any:
        mentions = self._mentions
        rows, columns = (
            [[] if mentions is None else mentions.paragraphs_of(self._graph.synonyms(key)) for key, _ in names]
            for names in (self.concepts, self.answers)
        )
        return meeting(rows, columns)

    def _mark_shared_letters(self) -> Any:
        rows, columns = ([self._forms.letters(name) for _, name in names] for names in (self.concepts, self.answers))
        return meeting(rows, columns)

    def _alike(self, names: Sequence[tuple[str, str]]) -> Any:
        """For each pair of names, whether they are too alike; a name is alike to itself."""
        alike, least = np.eye(len(names), dtype=bool), self._bar.alike
        if least is not None:
            texts = [(name,) for _, name in names]
            near = self._forms.near(texts, texts, "bigram" if least == 1 else "contained")
            alike |= from_bits(near, len(names))
            if least > 1:
                pieces = [self._forms.pieces(name) for _, name in names]
                alike |= from_bits(meeting(pieces, pieces, least), len(names))
        return alike


def _numbered(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keys, each once, with the text that people see."""
    texts: dict[str, str] = {}
    for key, text in names:
        texts[key] = min(text, texts.get(key, text))
    return sorted(texts.items())


def _of_facts(table: Any, rows: Any, columns: Any) -> Any:
    """The table of facts that have these rows and columns of a table of names."""
    return table.take(rows, axis=0).take(columns, axis=1)


def _index(sets: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """For each member, the numbers of the sets that have it."""
    found: dict[str, list[int]] = {}
    for number, members in enumerate(sets):
        for member in members:
            found.setdefault(member, []).append(number)
    return found
