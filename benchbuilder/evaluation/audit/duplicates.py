"""Duplicates and contradictions inside a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import (
    NumberSets,
    Row,
    answers_after,
    equality_key,
    first_equal,
    jaccard,
    joined_sets,
    near_sets,
    repeated_members,
    trigram_sets,
    trigrams,
)
from benchbuilder.evaluation.audit.compared_items import ComparedItem, ComparedItems, distinct_part

NEAR = 0.7
"""Questions of different families that share more than this of their character trigrams are near duplicates."""
_COMMON_ITEMS, _COMMON_SHARE = 20, 0.02
"""Trigrams that more questions than this contain belong to the frame of questions."""
_SETS = 8_192
"""So many sets of trigrams are looked at together."""

Numbers = NDArray[np.int64]
DuplicateKind = Literal["contradiction", "duplicate", "near duplicate"]
_ORDER: tuple[DuplicateKind, ...] = ("contradiction", "duplicate", "near duplicate")


@dataclass(frozen=True)
class DuplicatePair:
    """Two items, the kind of pair, the proportion of trigrams that their questions share, and what they say."""

    kind: DuplicateKind
    first: str
    second: str
    similarity: float
    question: str
    answers: tuple[str, str]


def find_duplicates(rows: Iterable[Row], near: float = NEAR) -> list[DuplicatePair]:
    """The pairs of items that contradict each other, that are equal, and near duplicates of different families.

    Equal questions with other verdicts or other right answers contradict each other. So do two items of this program
    if the right statement of one is the wrong statement of the other. Near duplicates have near questions, without the
    frame that many questions share, and near right answers. Each pair is given once, contradictions first.
    """
    items = ComparedItems(rows)
    found: dict[tuple[str, str], DuplicatePair] = {}
    for pair in chain(_equal(items), _contradicting_statements(items), _near(items, near)):
        found.setdefault((min(pair.first, pair.second), max(pair.first, pair.second)), pair)
    return sorted(found.values(), key=lambda pair: (_ORDER.index(pair.kind), -pair.similarity, pair.first, pair.second))


def _pair(kind: DuplicateKind, first: ComparedItem, second: ComparedItem, similarity: float) -> DuplicatePair:
    return DuplicatePair(kind, first.id, second.id, round(similarity, 3), first.question, (first.says, second.says))


def _equal(items: ComparedItems) -> Iterator[DuplicatePair]:
    """Every item with the question of an earlier one, beside the first that contradicts it, or else the first."""
    groups = _Groups(first_equal(items.keys[:, 0]), np.arange(len(items)))
    for number in groups.repeated().tolist():
        group = [items[place] for place in groups.places(number)]
        answers = _answers(group)
        for place, item in enumerate(group[1:], 1):
            others = zip(group[:place], answers, strict=False)
            other = next((other for other, answer in others if answer != answers[place]), None)
            if other is not None:
                yield _pair("contradiction", other, item, 1.0)
            else:
                yield _pair("duplicate", group[0], item, 1.0)


def _answers(group: Sequence[ComparedItem]) -> list[str]:
    """What equal questions must agree in: the verdict, or the answer."""
    if any(item.expected for item in group):
        return [item.expected for item in group]
    return answers_after(group[0].question, [item.context + item.right for item in group])


def _contradicting_statements(items: ComparedItems) -> Iterator[DuplicatePair]:
    """Items whose right statement is the wrong statement of another one."""
    chosen = np.flatnonzero(items.states)
    first = first_equal(np.concatenate([items.keys[chosen, 1], items.keys[chosen, 2]]))[len(chosen) :]
    there = np.flatnonzero(first < len(chosen))
    for place, other_place in zip(chosen[there].tolist(), chosen[first[there]].tolist(), strict=True):
        item, other = items[place], items[other_place]
        if other.id != item.id:
            yield DuplicatePair("contradiction", other.id, item.id, 1.0, other.right, (other.right, item.right))


def _near(items: ComparedItems, near: float) -> Iterator[DuplicatePair]:
    """Pairs of different families with near questions and near right answers."""
    own = _without_frame(trigram_sets(items.questions), max(_COMMON_ITEMS, _COMMON_SHARE * len(items)))
    asked = np.flatnonzero(own.sizes() > 0)
    groups = _Groups(first_equal(own.digests())[asked], asked)
    near_ones = near_sets(own.take(groups.firsts), near)
    del own
    for lefts, rights in chain(near_ones, [(groups.repeated(), groups.repeated())]):
        pairs = [
            (one, other)
            for left, right in zip(lefts.tolist(), rights.tolist(), strict=True)
            for one in groups.places(left) for other in groups.places(right) if _are_near(items, one, other, near)
        ]  # fmt: skip
        if pairs:
            grams = trigram_sets(items.questions[place] for pair in pairs for place in pair)
            even = np.arange(0, len(grams), 2)
            for (one, other), similarity in zip(pairs, grams.jaccard(even, even + 1).tolist(), strict=True):
                yield _pair("near duplicate", items[one], items[other], similarity)


class _Groups:
    """Groups of items at `places` by the first that each equals; `firsts` are the different first ones, in order."""

    def __init__(self, equal: Numbers, places: Numbers) -> None:
        order = np.argsort(equal, kind="stable")
        self._places = places[order]
        self.firsts, begins = np.unique(equal[order], return_index=True)
        self._ends = np.append(begins, len(order))

    def places(self, group: int) -> list[int]:
        """The items of a group, in order."""
        return self._places[self._ends[group] : self._ends[group + 1]].tolist()

    def repeated(self) -> Numbers:
        """The groups of several items."""
        return np.flatnonzero(np.diff(self._ends) > 1)


def _without_frame(grams: NumberSets, most: float) -> NumberSets:
    """The sets without the members that more than `most` of them have."""
    frame = np.append(repeated_members(grams.members, int(most))[0], np.uint64(2**64 - 1))  # no member is as large
    places = np.arange(len(grams))

    def part(first: int) -> NumberSets:
        some = grams.take(places[first : first + _SETS])
        kept = frame[np.searchsorted(frame, some.members)] != some.members
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)])
        return NumberSets(before[some.starts], some.members[kept])

    return joined_sets(map(part, range(0, len(grams), _SETS)))


def _are_near(items: ComparedItems, one: int, other: int, near: float) -> bool:
    """Whether two items with near questions are near duplicates."""
    if items.families[one] == items.families[other] or items.types[one] != items.types[other]:
        return False
    return _near_answers(items[one], items[other], near)


def _near_answers(first: ComparedItem, second: ComparedItem, near: float) -> bool:
    one, other = (distinct_part(equality_key(e.right), equality_key(e.wrong)) or e.right for e in (first, second))
    left, right = trigrams(one), trigrams(other)
    return left == right or jaccard(left, right) > near
