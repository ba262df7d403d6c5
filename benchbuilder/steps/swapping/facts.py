"""The facts that may be swapped: concept, answer and form of a statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchbuilder.core import compose_characters
from benchbuilder.steps.language.known_graph import Side, triple_text
from benchbuilder.steps.language.relations import capitalise
from benchbuilder.steps.swapping.names import NameForms


@dataclass(frozen=True, slots=True, order=True)
class SwapGroup:
    """What both facts of a pair have in common: source, relation, sentence around the ends, type of the answer."""

    partition: str
    relation: str
    frame: str
    end: str
    type: str
    side: Side = field(compare=False)


@dataclass(frozen=True, slots=True)
class SwapFact:
    """A true statement of a triple, taken apart; `place` is the position of the statement, `statement` its id."""

    place: int
    statement: str
    concept: str
    answer: str
    concept_key: str
    answer_key: str
    group: SwapGroup

    @property
    def relation(self) -> str:
        """The relation as the triple names it."""
        return self.group.relation

    @property
    def side(self) -> Side:
        """The end at which the concept is."""
        return self.group.side

    @property
    def text(self) -> str:
        """The triple as details show it."""
        ends = (self.concept, self.answer) if self.group.end == "tail" else (self.answer, self.concept)
        return triple_text(ends[0], self.relation, ends[1])


class FactReader:
    """Takes statements apart; names and groups that many facts have are held once."""

    def __init__(self, forms: NameForms, inverse_suffix: str) -> None:
        self._forms, self._inverse_suffix = forms, inverse_suffix
        self._names: dict[str, tuple[str, str]] = {}
        self._groups: dict[tuple[str, ...], SwapGroup] = {}

    def read(self, place: int, statement: Mapping[str, Any], triple: Mapping[str, Any]) -> SwapFact | None:
        """The parts of a statement; ``None`` if its answer is not an end of the triple, or its concept is not in it."""
        span, text = statement["answer"], statement["text"]
        if span is None:
            return None
        before, after = text[: span["start"]], text[span["end"] :]
        answer = text[span["start"] : span["end"]]
        for end, other in (("tail", "head"), ("head", "tail")):
            concept, written = triple[other], capitalise(triple[other])
            shown = written if before.startswith(written) else concept
            is_own = answer == triple[end] or (not before and answer == capitalise(triple[end]))
            if is_own and (shown in before or shown in after):
                frame = f"{before}\0{after}".replace(shown, "\1", 1)
                group = self._group(statement["partition"], triple["relation"], frame, end, triple[f"{end}_type"])
                (concept, concept_key), (answer, answer_key) = self._named(concept), self._named(triple[end])
                return SwapFact(place, statement["id"], concept, answer, concept_key, answer_key, group)
        return None

    def _named(self, name: str) -> tuple[str, str]:
        """A name and its key."""
        found = self._names.get(name)
        if found is None:
            key = self._forms.key(name)
            found = self._names[name] = (name, name if key == name else key)
        return found

    def _group(self, partition: str, relation: str, frame: str, end: str, type_: str) -> SwapGroup:
        names = (partition, relation, frame, end, type_)
        if (found := self._groups.get(names)) is None:
            composed = compose_characters(relation)
            side = Side.of(composed, end, self._inverse_suffix)
            found = self._groups[names] = SwapGroup(partition, composed, frame, end, type_, side)
        return found


def groups_of(facts: Iterable[SwapFact]) -> dict[SwapGroup, list[SwapFact]]:
    """The facts by what a pair must have in common, each group in the order of statement ids."""
    groups: dict[SwapGroup, list[SwapFact]] = {}
    for fact in sorted(facts, key=lambda fact: fact.statement):
        groups.setdefault(fact.group, []).append(fact)
    return dict(sorted(groups.items()))
