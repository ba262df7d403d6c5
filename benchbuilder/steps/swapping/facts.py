"""The facts that may be swapped: concept, answer and form of a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchbuilder.core import Statement, Triple, compose_characters
from benchbuilder.steps.language.known_graph import Side, triple_text
from benchbuilder.steps.swapping.names import NameForms


@dataclass(frozen=True)
class SwapFact:
    """A true statement of a triple, taken apart.

    `group` is what both facts of a pair have in common: source, relation, sentence around the ends, type of the answer.
    `text` is the triple as details show it.
    """

    statement: str
    fact: str
    concept: str
    answer: str
    concept_key: str
    answer_key: str
    relation: str
    side: Side
    group: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, true: Statement, triple: Triple, forms: NameForms, inverse_suffix: str) -> SwapFact | None:
        """The parts of a statement; ``None`` if its answer is not an end of the triple, or its concept is not in it."""
        if true.answer is None:
            return None
        before, after = true.text[: true.answer.start], true.text[true.answer.end :]
        answer = true.text[true.answer.start : true.answer.end]
        for end, concept, type_ in (("tail", triple.head, triple.tail_type), ("head", triple.tail, triple.head_type)):
            if answer == getattr(triple, end) and (concept in before or concept in after):
                frame = f"{before}\0{after}".replace(concept, "\1", 1)
                relation = compose_characters(triple.relation)
                side = Side.of(relation, end, inverse_suffix)
                return cls(
                    true.id, true.fact, concept, answer, forms.key(concept), forms.key(answer), relation, side,
                    (true.partition, relation, frame, end, type_), triple_text(triple.head, relation, triple.tail),
                )  # fmt: skip
        return None


def groups_of(facts: Mapping[str, SwapFact]) -> dict[tuple[str, ...], list[SwapFact]]:
    """The facts by what a pair must have in common, each group in the order of statement ids."""
    groups: dict[tuple[str, ...], list[SwapFact]] = {}
    for _, fact in sorted(facts.items()):
        groups.setdefault(fact.group, []).append(fact)
    return dict(sorted(groups.items()))
