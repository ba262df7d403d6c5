"""The graph of numbers gives what sets of texts give."""

import random
from math import sqrt

import pytest

from benchbuilder.evaluation.audit import knowledge
from benchbuilder.evaluation.audit.knowledge import AuditKnowledge

TRIPLE = tuple[str, str, str]


def triples(count: int) -> list[TRIPLE]:
    draw = random.Random(3)
    concepts = [f"{letter}{number}" for letter in "äbc疾" for number in range(6)]
    return [(draw.choice(concepts), draw.choice("rs"), draw.choice(concepts)) for _ in range(count)]


def neighbours(known: list[TRIPLE], concept: str) -> set[str]:
    found = [(tail if head == concept else head) for head, _, tail in known if concept in (head, tail)]
    return set(found)


def relatedness(known: list[TRIPLE], answer: str, concept: str, most: int) -> float:
    own, total = neighbours(known, concept) - {answer}, 0.0
    for other in sorted(neighbours(known, answer) - {concept})[:most]:
        theirs = neighbours(known, other)
        if own and theirs:
            total += len(own & theirs) / sqrt(len(own) * len(theirs))
    return total


@pytest.mark.parametrize("most", [3, 200])
def test_relatedness_and_degrees_are_those_of_sets(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(knowledge, "_NEIGHBOURS", most)
    known = triples(60)
    names = sorted({end for head, _, tail in known for end in (head, tail)} | {"unheard of"})
    pairs = [(answer, concept) for answer in names for concept in names if answer != concept]
    graph = AuditKnowledge([*known, *known[:9]])
    assert graph.relatedness(pairs) == [relatedness(known, *pair, most) for pair in pairs]
    assert graph.degrees(names) == [sum(name in (h, t) for h, _, t in set(known)) for name in names]


def test_without_triples_nothing_is_known() -> None:
    assert not AuditKnowledge().has_triples
    assert AuditKnowledge().degrees(["iron"]) == [0]
    assert AuditKnowledge().relatedness([("iron", "anaemia")]) == [0.0]
    assert AuditKnowledge().relatedness([]) == []
