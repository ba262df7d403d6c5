"""The bars of pairs, for all pairs of a block of facts at once."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.spec import SwapBars

PAIR_BARS = (
    "known_end", "known_elsewhere", "near_known", "kin_has_it", "plausible", "together_in_text", "shares_letters",
    "heads_alike", "answers_alike",
)  # fmt: skip
"""The bars of pairs, in the order in which they are reported."""
FULLY_RELATED = 1_000
"""The relatedness of a concept to itself."""
_COLUMNS = 2_048
"""Columns into which the pieces of names are hashed."""
Member = TypeVar("Member", str, int)
_CODE = {name: code for code, name in enumerate(PAIR_BARS, 1)}


class PairBars:
    """The bars between the concepts and the answers of facts that have one relation, form and type of answer.

    `barred` has, for each concept and answer, the code of the first bar (0: none).
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
        self.barred = np.zeros((len(self.concepts), len(self.answers)), np.uint8)
        self._fill()
        self.related = self._relate()

    def allowed(self) -> Any:
        """For each pair of facts, whether they may exchange their answers."""
        free = self.barred[np.ix_(self.concept_of, self.answer_of)] == 0
        free &= free.T
        for names, of_fact in ((self.concepts, self.concept_of), (self.answers, self.answer_of)):
            alike = self._alike(names)
            free &= ~alike[np.ix_(of_fact, of_fact)]
        if self._bar.related is not None:
            free &= self.related[np.ix_(self.concept_of, self.concept_of)] <= self._bar.related * FULLY_RELATED
        return free

    def relatedness(self) -> Any:
        """For each pair of facts, how related their concepts are, in steps of 5 %."""
        return self.related[np.ix_(self.concept_of, self.concept_of)] // (FULLY_RELATED // 20)

    def _relate(self) -> Any:
        """For each pair of concepts, how related they are, from 0 to `FULLY_RELATED`.

        It is the cosine of two sets of pieces: those of all names of a concept and of its known ends. Pieces that few
        concepts have weigh more. Weights are small whole numbers, so that sums are exact on every machine.
        """
        profiles = [
            {hash_column(piece) for name in (*self._graph.synonyms(key), *linked)
             for piece in self._forms.pieces(self._graph.spelled(name))}
            for (key, _), linked in zip(self.concepts, self._linked, strict=True)
        ]  # fmt: skip
        table = np.zeros((len(profiles), _COLUMNS), np.float32)
        for row, profile in enumerate(profiles):
            table[row, list(profile)] = 1
        rarity = np.log2(len(profiles) / np.maximum(table.sum(axis=0, dtype=np.float64), 1))
        table *= np.rint(2 + 2 * rarity).astype(np.float32)
        sums = (table @ table.T).astype(np.float64)
        sizes = np.sqrt(np.maximum(np.diagonal(sums), 1))
        return np.floor(FULLY_RELATED * sums / (sizes[:, None] * sizes[None, :])).astype(np.uint16)

    def _fill(self) -> None:
        bar = self._bar
        steps: list[tuple[str, bool, Callable[[], Any]]] = [
            ("known_end", bar.known, lambda: self._mark_known([self.known_ends(key) for key, _ in self.concepts])),
            ("known_elsewhere", bar.known and bar.any_relation, lambda: self._mark_known(self._linked)),
            ("near_known", bar.near_known != "none", self._mark_near_known),
            ("kin_has_it", bar.kin != "none" and self._guesses, self._mark_kin),
            ("plausible", bar.plausible is not None and self._guesses, self._mark_plausible),
            ("together_in_text", bar.together and self._guesses, self._mark_together),
            ("shares_letters", bar.shared_letters == "both_sides", self._mark_shared_letters),
        ]
        for name, is_on, mark in steps:
            if is_on:
                self.barred[mark() & (self.barred == 0)] = _CODE[name]

    def known_ends(self, key: str) -> dict[str, int]:
        """The known ends of a concept in the relation (with theirs, if it is transitive), and its own names."""
        return self._own_and(self._graph.chained_ends if self._transitive else self._graph.ends, key)

    def _own_and(self, ends: Callable[[str, Side], dict[str, int]], key: str) -> dict[str, int]:
        return {**ends(key, self._side), **dict.fromkeys(self._graph.synonyms(key), -1)}

    def _barring_ends(self) -> list[Mapping[str, int]]:
        if not self._bar.any_relation:
            return [*self._ends]
        return [{**ends, **linked} for ends, linked in zip(self._ends, self._linked, strict=True)]

    def _answers_by_name(self) -> dict[str, list[int]]:
        """The answers that have a name."""
        return _index(self._graph.synonyms(key) for key, _ in self.answers)

    def _none(self) -> Any:
        return np.zeros(self.barred.shape, bool)

    def _mark_known(self, ends: Sequence[Mapping[str, int]]) -> Any:
        marked, columns = self._none(), self._answers_by_name()
        for row, names in enumerate(ends):
            for name in names.keys() & columns.keys():
                marked[row, columns[name]] = True
        return marked

    def _mark_near_known(self) -> Any:
        marked, forms = self._none(), self._forms
        rows = _index({self._graph.spelled(end) for end in ends} for ends in self._barring_ends())
        columns = _index(self._spelled_names(key) for key, _ in self.answers)
        for end, answer in forms.near(rows, columns, self._bar.near_known):
            marked[np.ix_(rows[end], columns[answer])] = True
        return marked

    def _spelled_names(self, key: str) -> list[str]:
        return sorted({self._graph.spelled(name) for name in self._graph.synonyms(key)})

    def holder_names(self, key: str) -> dict[str, int]:
        """The names of the concepts that have an answer, in the relation or (with `any_relation`) in any."""
        graph, side = self._graph, self._side
        if self._bar.any_relation:
            return graph.linked(key)
        return {name: number for number in graph.holders(key, side) for name in graph.concept_names(number, side)}

    def _mark_kin(self) -> Any:
        marked, forms = self._none(), self._forms
        rows = _index(self._spelled_names(key) for key, _ in self.concepts)
        columns = _index({self._graph.spelled(name) for name in self.holder_names(key)} for key, _ in self.answers)
        for relative, holder in forms.near(rows, columns, self._bar.kin):
            marked[np.ix_(rows[relative], columns[holder])] = True
        return marked

    def voters(self, key: str) -> dict[str, int]:
        """The concepts that have an answer in the relation, each by one of its names, with the edge that says so."""
        found: dict[str, int] = {}
        for number in self._graph.holders(key, self._side):
            found.setdefault(min(self._graph.concept_names(number, self._side)), number)
        return found

    def _mark_plausible(self) -> Any:
        votes = np.zeros(self.barred.shape, np.float32)
        sizes = np.sqrt([max(len(linked), 1) for linked in self._linked])
        rows = {name: np.array(found) for name, found in _index(self._linked).items()}
        cosines: dict[str, tuple[Any, Any]] = {}
        for column, (key, _) in enumerate(self.answers):
            for voter in self.voters(key):
                if voter not in cosines:
                    ends = self._graph.linked(voter)
                    shared = [rows[end] for end in ends if end in rows]
                    counts = np.bincount(np.concatenate(shared) if shared else np.zeros(0, np.int64),
                                         minlength=len(self.concepts))  # fmt: skip
                    related = np.flatnonzero(counts)
                    cosines[voter] = related, counts[related] / (sizes[related] * max(len(ends), 1) ** 0.5)
                related, cosine = cosines[voter]
                votes[related, column] += cosine
        return votes > (self._bar.plausible or 0.0)

    def _mark_together(self) -> Any:
        marked = self._none()
        if self._mentions is None:
            return marked
        rows = _index(self._mentions.paragraphs_of(self._graph.synonyms(key)) for key, _ in self.concepts)
        columns = _index(self._mentions.paragraphs_of(self._graph.synonyms(key)) for key, _ in self.answers)
        for paragraph in rows.keys() & columns.keys():
            marked[np.ix_(rows[paragraph], columns[paragraph])] = True
        return marked

    def _mark_shared_letters(self) -> Any:
        marked = self._none()
        rows = _index(self._forms.letters(name) for _, name in self.concepts)
        columns = _index(self._forms.letters(name) for _, name in self.answers)
        for letter in rows.keys() & columns.keys():
            marked[np.ix_(rows[letter], columns[letter])] = True
        return marked

    def _alike(self, names: Sequence[tuple[str, str]]) -> Any:
        """For each pair of names, whether they are too alike; a name is alike to itself."""
        alike = np.eye(len(names), dtype=bool)
        if self._bar.alike is None:
            return alike
        alike |= _count_shared([self._forms.pieces(name) for _, name in names], len(names)) >= self._bar.alike
        texts = {name: row for row, (_, name) in enumerate(names)}
        for left, right in self._forms.near(texts, texts, "contained"):
            alike[texts[left], texts[right]] = True
        return alike


def hash_column(piece: str) -> int:
    """The column of a piece."""
    return zlib.crc32(piece.encode()) % _COLUMNS


def _numbered(names: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keys, each once, with the text that people see."""
    texts: dict[str, str] = {}
    for key, text in names:
        texts[key] = min(text, texts.get(key, text))
    return sorted(texts.items())


def _index(sets: Iterable[Iterable[Member]]) -> dict[Member, list[int]]:
    """For each member, the numbers of the sets that have it."""
    found: dict[Member, list[int]] = {}
    for number, members in enumerate(sets):
        for member in members:
            found.setdefault(member, []).append(number)
    return found


def _count_shared(sets: Sequence[Iterable[str]], count: int) -> Any:
    """For each pair of sets, how many members they share."""
    shared = np.zeros((count, count), np.uint16)
    for numbers in _index(sets).values():
        if len(numbers) > 1:
            shared[np.ix_(numbers, numbers)] += 1
    return shared
