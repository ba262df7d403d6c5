"""Item families: items that share a fact or are near duplicates; no split may divide a family."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchbuilder.core import comparison_form


@dataclass(frozen=True, slots=True)
class GroupMember:
    """An item: its id, its fact (empty if it has none), and every text by which a judge could recognise it."""

    id: str
    fact: str
    texts: tuple[str, ...]


def item_families(members: Iterable[GroupMember], threshold: float) -> dict[str, str]:
    """The family of each member by id, named by the first fact (or id) in it; the order of members does not matter.

    Two members belong to one family if they share a fact, or if a text of one and a text of the other have equal
    character trigrams, or trigrams whose Jaccard index exceeds `threshold`. Punctuation, white space, width and case
    are ignored. Families are transitive: members related to the same member belong together.
    """
    ordered = sorted(members, key=lambda member: member.id)
    groups = _UnionFind(len(ordered))
    facts: dict[str, int] = {}
    for place, member in enumerate(ordered):
        if member.fact:
            groups.join(facts.setdefault(member.fact, place), place)
    owners: dict[frozenset[str], list[int]] = defaultdict(list)
    for place, member in enumerate(ordered):
        for text in member.texts:
            if grams := trigrams(text):
                owners[grams].append(place)
    texts = list(owners)
    for places in owners.values():
        for place in places:
            groups.join(places[0], place)
    for left, right in near_pairs(texts, threshold):
        groups.join(owners[texts[left]][0], owners[texts[right]][0])
    names: dict[int, str] = {}
    for place, member in enumerate(ordered):
        root, name = groups.root(place), member.fact or member.id
        names[root] = min(names.get(root, name), name)
    return {member.id: names[groups.root(place)] for place, member in enumerate(ordered)}


def trigrams(text: str) -> frozenset[str]:
    """The character trigrams of the letters and digits of `text`; a shorter text is its only trigram.

    >>> sorted(trigrams("Ab, cd!"))
    ['abc', 'bcd']
    """
    bare = "".join(mark for mark in comparison_form(text) if mark.isalnum() or unicodedata.category(mark)[0] == "M")
    if len(bare) < 3:
        return frozenset({bare} - {""})
    return frozenset(bare[start : start + 3] for start in range(len(bare) - 2))


def near_pairs(sets: Sequence[frozenset[str]], threshold: float) -> Iterator[tuple[int, int]]:
    """The positions of distinct sets whose Jaccard index exceeds `threshold`, each pair once.

    Two such sets must share one of their rarest elements, so only sets that do are compared (prefix filtering).
    """
    counts = Counter(gram for grams in sets for gram in grams)
    holders: dict[str, list[int]] = defaultdict(list)
    for place in sorted(range(len(sets)), key=lambda place: (len(sets[place]), place)):
        grams = sets[place]
        least = math.ceil(threshold * len(grams) - 1e-9)
        rarest = sorted(grams, key=lambda gram: (counts[gram], gram))[: len(grams) - max(least, 1) + 1]
        for other in sorted({place for gram in rarest for place in holders[gram]}):
            if len(sets[other]) >= least and jaccard(sets[other], grams) > threshold:
                yield other, place
        for gram in rarest:
            holders[gram].append(place)


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """The Jaccard index: the size of the intersection over that of the union; 0 for empty sets."""
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0


class _UnionFind:
    """Union-find over positions."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def root(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = self._above[self._above[place]]
            place = self._above[place]
        return place

    def join(self, first: int, second: int) -> None:
        self._above[self.root(second)] = self.root(first)
