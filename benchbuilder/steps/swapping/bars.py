"""The bars of pairs, for all pairs of a block of facts at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.meeting import from_bits, has_bit, meeting, to_bits
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED, relatedness
from benchbuilder.steps.swapping.similar_concepts import SimilarConcepts
from benchbuilder.steps.swapping.spec import SwapBars

PAIR_BARS = (
    "known_end", "known_elsewhere", "near_known", "kin_has_it", "similar_have_it", "class_has_it", "together_in_text",
    "shares_letters", "heads_alike", "answers_alike", "letters_tell",
)  # fmt: skip
"""The bars of pairs, in the order in which they are reported."""
_LETTERS = 3
"""So many characters that concept and answer share are told apart; more count as this many."""


@dataclass(frozen=True)
class KnownWorld:
    """What bars know: how names are compared, the known triples near the facts, paragraphs, and similar concepts."""

    forms: NameForms
    graph: KnownGraph
    mentions: Mentions | None
    similar: SimilarConcepts | None
    has_classes: bool


_STRIP = 64
"""Columns of a table that are turned at once: those of a line of the processor's cache."""


class PairBars:
    """The bars between the concepts and the answers of facts that have one relation, form and type of answer.

    `marks` has, for each bar that is on, its pairs of a concept and an answer as bits.
    """

    def __init__(
        self, facts: Sequence[SwapFact], bar: SwapBars, known: KnownWorld, *, functional: bool, transitive: bool,
    ) -> None:  # fmt: skip
        self.facts = facts
        self._bar, self._forms, self._graph = bar, known.forms, known.graph
        self._known = known
        self._guesses, self._transitive = not functional, transitive
        self._side: Side = facts[0].side
        self.concepts = _numbered((fact.concept_key, fact.concept) for fact in facts)
        self.answers = _numbered((fact.answer_key, fact.answer) for fact in facts)
        concept_rows = {key: row for row, (key, _) in enumerate(self.concepts)}
        answer_rows = {key: row for row, (key, _) in enumerate(self.answers)}
        self.concept_of = np.array([concept_rows[fact.concept_key] for fact in facts])
        self.answer_of = np.array([answer_rows[fact.answer_key] for fact in facts])
        self._ends = [self._own_and(self._graph.ends, key) for key, _ in self.concepts]
        self._linked = [self._graph.linked(key) for key, _ in self.concepts]
        self.marks = dict(self._marked())
        self.related = self._relate()

    def barred(self) -> Any:
        """For each concept and answer, whether a bar speaks against the answer."""
        barred = np.zeros((len(self.concepts), -(-len(self.answers) // 8)), np.uint8)
        for bits in self.marks.values():
            barred |= bits
        return from_bits(barred, len(self.answers))

    def alike_concepts(self) -> Any:
        """For each pair of concepts, whether they are too alike to exchange answers."""
        alike = self._alike(self.concepts)
        if self._bar.related is not None and self._guesses:
            alike |= self.related > self._bar.related * FULLY_RELATED
        return alike

    def allowed(self) -> Any:
        """For each pair of facts, whether they may exchange their answers."""
        free = _of_facts(~self.barred(), self.concept_of, self.answer_of)
        both = free.copy()
        for start in range(0, len(free), _STRIP):
            strip = slice(start, start + _STRIP)
            both[strip] &= free[:, strip].T
        both &= _of_facts(~self.alike_concepts(), self.concept_of, self.concept_of)
        both &= _of_facts(~self._alike(self.answers), self.answer_of, self.answer_of)
        both[self.own_ends_share] = both[:, self.own_ends_share] = False
        if self._bar.shared_letters != "allowed":
            shared = _of_facts(self._shared_letters, self.concept_of, self.answer_of)
            own = shared.diagonal()
            for row in range(len(both)):
                both[row] &= self._are_balanced(own[row], own, shared[row], shared[:, row])
        return both

    @cached_property
    def popularity(self) -> tuple[Any, Any]:
        """For the concept and for the answer of each fact, how many names it is linked to, in steps that double."""
        concepts, answers = (
            np.array([len(self._graph.linked(key)).bit_length() for key, _ in names])
            for names in (self.concepts, self.answers)
        )
        return concepts[self.concept_of], answers[self.answer_of]

    @cached_property
    def own_ends_share(self) -> Any:
        """For each fact, whether its own ends share a rare letter: what bars false statements bars true ones too."""
        bits = self.marks.get("shares_letters")
        if bits is None:
            return np.zeros(len(self.facts), bool)
        return from_bits(bits, len(self.answers))[self.concept_of, self.answer_of]

    def letters_tell(self, row: int, other: int) -> bool:
        """Whether the letters of concept and answer tell the true statements of a pair from its false ones."""
        if self._bar.shared_letters == "allowed":
            return False
        shared, pairs = self._shared_letters, ((row, row), (other, other), (row, other), (other, row))
        return not self._are_balanced(*(shared[self.concept_of[a], self.answer_of[b]] for a, b in pairs))

    @staticmethod
    def _are_balanced(own: Any, other: Any, lent: Any, returned: Any) -> Any:
        """Whether the two true statements of a pair share as many letters as its two false ones, in either order."""
        return ((own == lent) & (other == returned)) | ((own == returned) & (other == lent))

    @cached_property
    def _shared_letters(self) -> Any:
        """For each concept and answer, what their letters show, as a number.

        It holds how many they share, counted up to `_LETTERS`, whether one name contains the other, and whether both
        begin or end alike.
        """
        forms, count = self._forms, len(self.answers)
        sides = [[name for _, name in some] for some in (self.concepts, self.answers)]
        concepts, answers = (list(map(forms.letters, side)) for side in sides)
        tables = [from_bits(meeting(concepts, answers, least), count) for least in range(1, _LETTERS + 1)]
        whole, others = ([(name,) for name in side] for side in sides)
        shown = [from_bits(forms.near(whole, others, "contained"), count)]
        for place in (0, -1):
            first, second = (np.array([(forms.tokens(name) or ("",))[place] for name in side]) for side in sides)
            shown.append(first[:, None] == second)
        found: Any = sum(table.astype(np.uint8) for table in tables)
        return found + sum(table.astype(np.uint8) * ((_LETTERS + 1) << bit) for bit, table in enumerate(shown))

    @property
    def is_functional(self) -> bool:
        """Whether the author says that a concept has one end in the relation."""
        return not self._guesses

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
            ("near_known", bar.near_known != "none" and self._guesses, self._mark_near_known),
            ("kin_has_it", bar.kin != "none" and self._guesses, self._mark_kin),
            ("similar_have_it", bar.similar is not None and self._guesses, self._mark_similar),
            ("class_has_it", bar.spread is not None and self._known.has_classes and self._guesses, self._mark_classes),
            ("together_in_text", bar.together and self._guesses, self._mark_together),
            ("shares_letters", bar.shared_letters == "common", self._mark_shared_letters),
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
        names = [self._spelled_names(key) for key, _ in self.answers]
        return self._forms.near(ends, names, self._bar.near_known, self.common_pieces)

    @cached_property
    def common_pieces(self) -> frozenset[str]:
        """The pieces that are a word for all answers."""
        return self._common(name for _, name in self.answers)

    def _common(self, names: Iterable[str]) -> frozenset[str]:
        """The pieces that more than the share `common` of some names have, and more than two of them."""
        every = list(names)
        return self._forms.frequent_pieces(every, int(max(self._bar.common * len(every), 2)))

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
        return self._forms.near(relatives, holders, self._bar.kin, self.frequent_pieces)

    @cached_property
    def frequent_pieces(self) -> frozenset[str]:
        """The pieces that too many names have to make relatives."""
        names = {self._graph.spelled(name) for key, _ in self.answers for name in self.holder_names(key)}
        return self._forms.frequent_pieces(names, self._bar.rare)

    def _mark_similar(self) -> Any:
        bar, similar = self._bar.similar, self._known.similar
        if bar is None or similar is None:
            raise TypeError("the bar `similar` needs similar concepts")
        concepts, answers = ([key for key, _ in names] for names in (self.concepts, self.answers))
        shares, base = similar.similar_shares(concepts, answers, self._side, bar)
        return to_bits((shares > bar.lift * base) | (shares > bar.share))

    def _mark_classes(self) -> Any:
        bar, similar = self._bar.spread, self._known.similar
        if bar is None or similar is None:
            raise TypeError("the bar `spread` needs similar concepts")
        concepts, answers = ([key for key, _ in names] for names in (self.concepts, self.answers))
        return to_bits(similar.class_shares(concepts, answers, bar) > bar.share)

    def _mark_together(self) -> Any:
        mentions = self._known.mentions
        rows, columns = (
            [[] if mentions is None else mentions.paragraphs_of(self._graph.synonyms(key)) for key, _ in names]
            for names in (self.concepts, self.answers)
        )
        return meeting(rows, columns)

    def _mark_shared_letters(self) -> Any:
        concepts, answers = ([self.rare_letters(name) for _, name in names] for names in (self.concepts, self.answers))
        return meeting(concepts, answers)

    def rare_letters(self, name: str) -> Set[str]:
        """The letters of a name that less than the share `common` of all names have, or only two of them."""
        return self._forms.letters(name) - self._common_letters

    @cached_property
    def _common_letters(self) -> frozenset[str]:
        names = [name for _, name in (*self.concepts, *self.answers)]
        counts = Counter(letter for name in names for letter in self._forms.letters(name))
        least = max(self._bar.common * len(names), 3)
        return frozenset(letter for letter, count in counts.items() if count >= least)

    def _alike(self, names: Sequence[tuple[str, str]]) -> Any:
        """For each pair of names, whether they are too alike; a name is alike to itself."""
        alike, least = np.eye(len(names), dtype=bool), self._bar.alike
        if least is None:
            return alike
        texts = [(name,) for _, name in names]
        alike |= from_bits(self._forms.near(texts, texts, "contained"), len(names))
        if self._guesses:
            common = self._common(name for _, name in names)
            pieces = [self._forms.pieces(name) - common for _, name in names]
            alike |= from_bits(meeting(pieces, pieces, least), len(names))
        return alike

    def are_alike(self, left: str, right: str, *, concepts: bool) -> bool:
        """Whether two names of concepts, or of answers, are too alike."""
        if self._bar.alike is None:
            return left == right
        common = self._common(name for _, name in (self.concepts if concepts else self.answers))
        shared = (self._forms.pieces(left) & self._forms.pieces(right)) - common if self._guesses else ()
        return left == right or self._forms.overlap(left, right) or len(shared) >= self._bar.alike


def _numbered(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keys, each once, with the text that people see."""
    texts: dict[str, str] = {}
    for key, text in names:
        texts[key] = min(text, texts.get(key, text))
    return sorted(texts.items())


def _of_facts(table: Any, rows: Any, columns: Any) -> Any:
    """The table of facts that have these rows and columns of a table of names."""
    return table.take(rows, axis=0).take(columns, axis=1)
