"""Says what bars one pair of facts, with the triple or paragraph that does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchbuilder.core import Dropped
from benchbuilder.steps.language.known_graph import KnownGraph
from benchbuilder.steps.swapping.bars import PAIR_BARS, PairBars
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED
from benchbuilder.steps.swapping.spec import SwapBars


class PairReasons:
    """The reasons of the bars of a block of facts, one pair at a time."""

    def __init__(self, block: PairBars, bar: SwapBars, forms: NameForms, graph: KnownGraph, mentions: Mentions | None,
                 ) -> None:  # fmt: skip
        self._block, self._bar, self._forms, self._graph, self._mentions = block, bar, forms, graph, mentions

    def reason(self, row: int, other: int) -> Dropped | None:
        """The first bar between two facts of the block, or ``None``; the detail names the partner and the evidence."""
        one, two = self._block.facts[row], self._block.facts[other]
        found = sorted([*self._of_statement(row, other, one, two), *self._of_statement(other, row, two, one),
                        *self._of_names(row, other, one, two)], key=lambda pair: PAIR_BARS.index(pair[0]))  # fmt: skip
        if not found:
            return None
        name, evidence = found[0]
        return Dropped(name, f"{two.text}: {evidence}")

    def _of_statement(self, row: int, other: int, own: SwapFact, lent: SwapFact) -> Iterator[tuple[str, str]]:
        """The bar of the statement that gives the concept of `own` the answer of `lent`."""
        if (name := self._block.bar_of(row, other)) is not None:
            yield name, f"{own.concept} / {lent.answer}{self._evidence(name, own, lent)}"

    def _of_names(self, row: int, other: int, one: SwapFact, two: SwapFact) -> Iterator[tuple[str, str]]:
        most, concepts = self._bar.related, self._block.concept_of
        related = float(self._block.related[concepts[row], concepts[other]]) / FULLY_RELATED
        if most is not None and related > most:
            yield "heads_alike", f"{one.concept} / {two.concept}: {related:.2f}"
        if self._bar.alike is not None or one.concept_key == two.concept_key:
            for name, left, right in (("heads_alike", one.concept, two.concept),
                                      ("answers_alike", one.answer, two.answer)):  # fmt: skip
                shared = len(self._forms.pieces(left) & self._forms.pieces(right))
                if left == right or self._forms.overlap(left, right) or shared >= (self._bar.alike or 1):
                    yield name, f"{left} / {right}"

    def _evidence(self, name: str, own: SwapFact, lent: SwapFact) -> str:
        """The triple, paragraph or letters behind a bar."""
        graph, forms = self._graph, self._forms
        answers = graph.synonyms(lent.answer_key)
        if name == "shares_letters":
            return f": {' '.join(sorted(forms.letters(own.concept) & forms.letters(lent.answer)))}"
        if name == "together_in_text" and self._mentions is not None:
            both = set(self._mentions.paragraphs_of(graph.synonyms(own.concept_key)))
            return f": {self._mentions.text_of(min(both.intersection(self._mentions.paragraphs_of(answers))))}"
        if name == "kin_has_it":
            return self._first(self._block.holder_names(lent.answer_key), lambda holder: any(
                forms.is_near(graph.spelled(holder), graph.spelled(own_name), self._bar.kin)
                for own_name in graph.synonyms(own.concept_key)
            ))  # fmt: skip
        if name == "plausible":
            linked = graph.linked(own.concept_key).keys()
            voters = self._block.voters(lent.answer_key)
            return self._first(voters, lambda voter: not linked.isdisjoint(graph.linked(voter)))
        ends = {**graph.linked(own.concept_key), **self._block.known_ends(own.concept_key)}
        if name == "near_known":
            return self._first(ends, lambda end: any(
                forms.is_near(graph.spelled(end), graph.spelled(answer), self._bar.near_known)
                for answer in answers
            ))  # fmt: skip
        return self._first(ends, lambda end: end in answers)

    def _first(self, edges: Mapping[str, int], fits: Callable[[str], bool]) -> str:
        """The text of the triple of the first name that fits; empty if it is no triple but the name itself."""
        name = min((name for name in edges if fits(name)), default=None)
        return "" if name is None or edges[name] < 0 else f": {self._graph.edge_text(edges[name])}"
