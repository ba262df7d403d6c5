"""The bars of a single fact."""

from __future__ import annotations

from benchbuilder.core import Dropped, compose_characters, has_match, pattern_excerpt
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.similar_concepts import SimilarConcepts
from benchbuilder.steps.swapping.spec import ExchangeSpec


class FactBars:
    """The bars of a single fact. They drop a fact altogether: neither side of a pair has it."""

    def __init__(self, spec: ExchangeSpec, forms: NameForms) -> None:
        self._spec = spec
        self._forms = forms
        lists = spec.relations
        self._open = frozenset(map(compose_characters, (*lists.open, *lists.ranges, *lists.preferences, *lists.kinds)))
        self._checkable = frozenset(map(compose_characters, lists.checkable))
        self._transitive = frozenset(map(compose_characters, spec.relations.transitive))
        self._functional = frozenset(map(compose_characters, spec.relations.functional))

    def by_text(self, fact: SwapFact) -> Dropped | None:
        """The bar of a fact that its text alone decides."""
        names = {fact.relation, fact.side.relation}
        if not names.isdisjoint(self._open) or (self._checkable and names.isdisjoint(self._checkable)):
            return Dropped("open_relation", fact.relation)
        return self.by_answer(fact.answer)

    def by_answer(self, answer: str) -> Dropped | None:
        """The bar of a fact by its answer alone."""
        for pattern in self._spec.bar.generic:
            if has_match(pattern, answer):
                return Dropped("generic_answer", f"{answer}: {pattern_excerpt(pattern)}")
        return None

    def is_unspecific(self, answer_key: str, similar: SimilarConcepts) -> bool:
        """Whether concepts of all sorts have an answer."""
        cohesion, spread = self._spec.bar.cohesion, self._spec.bar.spread
        return (cohesion is not None and similar.lack_cohesion(answer_key, cohesion)) or (
            spread is not None and similar.lack_class(answer_key, spread)
        )

    def by_holders(self, fact: SwapFact, similar: SimilarConcepts) -> Dropped | None:
        """The bar of a fact whose answer concepts of all sorts have."""
        lacks = not self.is_functional(fact) and self.is_unspecific(fact.answer_key, similar)
        return Dropped("unspecific", fact.answer) if lacks else None

    def is_transitive(self, fact: SwapFact) -> bool:
        """Whether an end of an end is an end in this relation."""
        return not self._transitive.isdisjoint((fact.relation, fact.side.relation))

    def is_functional(self, fact: SwapFact) -> bool:
        """Whether the author says that a concept has one end in this relation."""
        return not self._functional.isdisjoint((fact.relation, fact.side.relation))
