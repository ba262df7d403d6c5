"""The bars of a single fact."""

from __future__ import annotations

from benchbuilder.core import (
    Dropped,
    compose_characters,
    has_match,
    pattern_excerpt,
)
from benchbuilder.steps.swapping.facts import SwapFact
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.popularity import Popularity
from benchbuilder.steps.swapping.spec import SwapTripleSpec


class FactBars:
    """The bars of a single fact. They drop a fact altogether: neither side of a pair has it."""

    def __init__(self, spec: SwapTripleSpec, forms: NameForms) -> None:
        self._spec = spec
        self._forms = forms
        self._open = frozenset(map(compose_characters, spec.relations.open))
        self._checkable = frozenset(map(compose_characters, spec.relations.checkable))
        self._transitive = frozenset(map(compose_characters, spec.relations.transitive))
        self._functional = frozenset(map(compose_characters, spec.relations.functional))

    def by_text(self, fact: SwapFact) -> Dropped | None:
        """The bar of a fact that its text alone decides."""
        names = {fact.relation, fact.side.relation}
        if not names.isdisjoint(self._open) or (self._checkable and names.isdisjoint(self._checkable)):
            return Dropped("open_relation", fact.relation)
        for pattern in self._spec.bar.generic:
            if has_match(pattern, fact.answer):
                return Dropped("generic_answer", f"{fact.answer}: {pattern_excerpt(pattern)}")
        if self._spec.bar.shared_letters == "both_sides":
            shared = self._forms.letters(fact.concept) & self._forms.letters(fact.answer)
            if shared:
                return Dropped("shares_letters", f"{fact.text}: {' '.join(sorted(shared))}")
        return None

    def by_popularity(self, fact: SwapFact, popularity: Popularity) -> Dropped | None:
        """The bar of a fact whose answer too many concepts have, or whose concept is too general."""
        bar = self._spec.bar
        holders, kinds = popularity.holders(fact), popularity.kinds(fact)
        if bar.popular_answer is not None and len(holders) > bar.popular_answer and not self.is_functional(fact):
            other = next(text for key, text in holders.items() if key != fact.concept_key)
            return Dropped("popular_answer", f"{fact.answer}: {other}")
        if bar.general_concept is not None and len(kinds) > bar.general_concept:
            return Dropped("general_concept", f"{fact.concept}: {', '.join(kinds.values())}")
        return None

    def is_transitive(self, fact: SwapFact) -> bool:
        """Whether an end of an end is an end in this relation."""
        return not self._transitive.isdisjoint((fact.relation, fact.side.relation))

    def is_functional(self, fact: SwapFact) -> bool:
        """Whether the author says that a concept has one end in this relation."""
        return not self._functional.isdisjoint((fact.relation, fact.side.relation))
