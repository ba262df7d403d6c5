"""Finds the partner of each fact, or the reason why it has none."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from benchbuilder.core import Dropped, NotApplicable, Table
from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.swapping.bars import KnownWorld, PairBars
from benchbuilder.steps.swapping.explain import PairReasons
from benchbuilder.steps.swapping.fact_bars import FactBars
from benchbuilder.steps.swapping.facts import SwapFact, groups_of
from benchbuilder.steps.swapping.mentions import Mentions
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.pairing import Pairing
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED
from benchbuilder.steps.swapping.similar_concepts import SimilarConcepts
from benchbuilder.steps.swapping.spec import ExchangeSpec

_BLOCK = 4_096
"""Facts among which partners are searched: time and memory of a block grow with the square of this."""


class FactExchange:
    """The facts that may exchange their answers, with all that is known of their ends."""

    def __init__(
        self,
        spec: ExchangeSpec,
        forms: NameForms,
        facts: Sequence[SwapFact],
        tables: Mapping[str, Table[Any]],
        seed: int,
    ) -> None:
        self._spec, self._facts, self._seed = spec, facts, seed
        self.bars = FactBars(spec, forms)
        keys = {key for fact in facts for key in (fact.concept_key, fact.answer_key)}
        self.known = known_world(
            spec, forms, (tables["known"], tables["fact"]), keys, tables.get("passages"), self._chains()
        )

    def pair(self, partners: NDArray[Any], outcomes: list[Dropped | NotApplicable | None]) -> None:
        """Write the partner of each fact, or why it has none, at the position of its statement."""
        for group in groups_of(self._specific(outcomes)).values():
            for block in self._blocks(group):
                self._pair(block, partners, outcomes)

    def _chains(self) -> dict[str, set[Side]]:
        chains: dict[str, set[Side]] = {}
        for fact in filter(self.bars.is_transitive, self._facts):
            chains.setdefault(fact.concept_key, set()).add(fact.side)
        return chains

    def _specific(self, outcomes: list[Dropped | NotApplicable | None]) -> Iterator[SwapFact]:
        """The facts whose answers are not those of all sorts of concepts."""
        similar = self.known.similar
        for fact in self._facts:
            outcomes[fact.place] = None if similar is None else self.bars.by_holders(fact, similar)
            if outcomes[fact.place] is None:
                yield fact

    def _blocks(self, group: Sequence[SwapFact]) -> Iterator[list[SwapFact]]:
        """The facts of a group in random order, cut where it is large; all facts of an answer stay together."""

        def drawn(name: str) -> str:
            return hashlib.blake2b(f"{self._seed}:{name}".encode(), digest_size=16).hexdigest()

        counts = Counter(fact.answer_key for fact in group)
        numbers: dict[str, int] = {}
        size = number = 0
        for answer in sorted(counts, key=drawn):
            if size and size + counts[answer] > _BLOCK:
                size, number = 0, number + 1
            numbers[answer] = number
            size += counts[answer]
        blocks: list[list[SwapFact]] = [[] for _ in range(number + 1)]
        for fact in sorted(group, key=lambda fact: drawn(fact.statement)):
            blocks[numbers[fact.answer_key]].append(fact)
        yield from blocks

    def _pair(
        self, block: Sequence[SwapFact], partners: NDArray[Any], outcomes: list[Dropped | NotApplicable | None]
    ) -> None:
        """The partner of each fact of a block, or the reason why it has none."""
        barred = PairBars(block, self._spec.bar, self.known, functional=self.bars.is_functional(block[0]),
                          transitive=self.bars.is_transitive(block[0]))  # fmt: skip
        related = barred.related // (FULLY_RELATED // 20)  # in steps of 5 %
        pairing = Pairing(barred.allowed(), barred.concept_of, barred.answer_of, related, self._spec.partner,
                          barred.popularity)  # fmt: skip
        reasons = PairReasons(barred, self._spec.bar, self.known)
        for row, fact in enumerate(block):
            if (mate := int(pairing.mate[row])) >= 0:
                partners[fact.place] = block[mate].place
                continue
            other = pairing.first_choice(row)
            if other is None:
                outcomes[fact.place] = Dropped("no_partner", fact.text)
            else:
                outcomes[fact.place] = reasons.reason(row, other) or Dropped("left_over", block[other].text)


def known_world(
    spec: ExchangeSpec, forms: NameForms, tables: Sequence[Table[Any]], keys: set[str], passages: Table[Any] | None,
    chains: Mapping[str, set[Side]] | None = None,
) -> KnownWorld:  # fmt: skip
    """What the bars of `spec` need to know of the names `keys`."""
    bar, graph = spec.bar, KnownGraph.around(tables, keys, spec.known_rule, chains)
    similar = mentions = None
    if bar.similar is not None or bar.cohesion is not None or bar.spread is not None:
        similar = SimilarConcepts(tables, keys, spec.known_rule, spec.relations)
    if passages is not None and bar.together:
        mentions = Mentions(passages, {name for key in keys for name in graph.synonyms(key)}, graph, forms)
    return KnownWorld(forms, graph, mentions, similar, bool(spec.relations.classes))
