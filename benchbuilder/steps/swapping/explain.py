"""Says what bars one pair of facts, with the triple or paragraph that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from benchbuilder.core import Dropped
from benchbuilder.steps.swapping.bars import PAIR_BARS, KnownWorld, PairBars
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED
from benchbuilder.steps.swapping.spec import SwapBars


class PairReasons:
    """The reasons of the bars of a block of facts, one pair at a time."""

    def __init__(self, block: PairBars, bar: SwapBars, known: KnownWorld) -> None:
        self._block, self._bar, self._known = block, bar, known
        self._forms, self._graph = known.forms, known.graph

    def reason(self, row: int, other: int) -> Dropped | None:
        """The first bar between two facts of the block, or ``None``; the detail names the partner and the evidence."""
        one, two = self._block.facts[row], self._block.facts[other]
        if self._block.own_ends_share[row]:
            return Dropped("shares_letters", f"{one.text}{self._evidence('shares_letters', one, one)}")
        bars = (self._of_statement(row, other, one, two), self._of_statement(other, row, two, one),
                self._of_names(row, other, one, two), self._of_letters(row, other))  # fmt: skip
        found = sorted(chain(*bars), key=lambda pair: PAIR_BARS.index(pair[0]))
        if not found:
            return None
        name, evidence = found[0]
        return Dropped(name, f"{two.text}: {evidence}")

    def _of_statement(self, row: int, other: int, own: SwapFact, lent: SwapFact) -> Iterator[tuple[str, str]]:
        """The bar of the statement that gives the concept of `own` the answer of `lent`."""
        if (name := self._block.bar_of(row, other)) is not None:
            yield name, f"{own.concept} / {lent.answer}{self._evidence(name, own, lent)}"

    def _of_letters(self, row: int, other: int) -> Iterator[tuple[str, str]]:
        if self._block.letters_tell(row, other):
            facts = [self._block.facts[place] for place in (row, other)]
            shared = (
                self._forms.letters(one.concept) & self._forms.letters(two.answer) for one in facts for two in facts
            )
            yield "letters_tell", "; ".join(" ".join(sorted(letters)) or "-" for letters in shared)

    def _of_names(self, row: int, other: int, one: SwapFact, two: SwapFact) -> Iterator[tuple[str, str]]:
        most, concepts = self._bar.related, self._block.concept_of
        related = float(self._block.related[concepts[row], concepts[other]]) / FULLY_RELATED
        if most is not None and related > most and not self._block.is_functional:
            yield "heads_alike", f"{one.concept} / {two.concept}: {related:.2f}"
        for name, left, right in (("heads_alike", one.concept, two.concept), ("answers_alike", one.answer, two.answer)):
            if self._block.are_alike(left, right, concepts=name == "heads_alike"):
                yield name, f"{left} / {right}"

    def _evidence(self, name: str, own: SwapFact, lent: SwapFact) -> str:
        """The triple, paragraph or letters behind a bar."""
        graph, forms = self._graph, self._forms
        answers = graph.synonyms(lent.answer_key)
        if name == "shares_letters":
            letters = self._block.rare_letters
            return f": {' '.join(sorted(letters(own.concept) & letters(lent.answer)))}"
        if name == "together_in_text" and (mentions := self._known.mentions) is not None:
            both = set(mentions.paragraphs_of(graph.synonyms(own.concept_key)))
            return f": {mentions.text_of(min(both.intersection(mentions.paragraphs_of(answers))))}"
        if name == "kin_has_it":
            return self._first(self._block.holder_names(lent.answer_key), lambda holder: any(
                forms.is_near(graph.spelled(own_name), graph.spelled(holder), self._bar.kin,
                              self._block.frequent_pieces)
                for own_name in graph.synonyms(own.concept_key)
            ))  # fmt: skip
        if name in ("similar_have_it", "class_has_it"):
            return self._like(name, own, lent)
        ends = {**graph.linked(own.concept_key), **self._block.known_ends(own.concept_key)}
        if name == "near_known":
            return self._first(ends, lambda end: any(
                forms.is_near(graph.spelled(end), graph.spelled(answer), self._bar.near_known,
                              self._block.common_pieces)
                for answer in answers
            ))  # fmt: skip
        return self._first(ends, lambda end: end in answers)

    def _like(self, name: str, own: SwapFact, lent: SwapFact) -> str:
        """Who is like the concept and has the answer."""
        similar, bar = self._known.similar, self._bar.similar
        if similar is None or bar is None or name == "class_has_it":
            return ""
        key = similar.most_similar_with(own.concept_key, lent.answer_key, own.side, bar.nearest)
        return f": {self._graph.spelled(key)} has it" if key else ""

    def _first(self, edges: Mapping[str, int], fits: Callable[[str], bool]) -> str:
        """The text of the triple of the first name that fits; empty if it is no triple but the name itself."""
        name = min((name for name in edges if fits(name)), default=None)
        return "" if name is None or edges[name] < 0 else f": {self._graph.edge_text(edges[name])}"
