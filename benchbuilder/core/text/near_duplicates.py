"""Near duplicates: texts with overlapping character trigrams, and the families that items with such texts form."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchbuilder.core.text.normalise import comparison_form


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
    pairs = near_rows([[trigrams(text) for text in member.texts] for member in ordered], threshold)
    names = join_groups([member.fact or member.id for member in ordered], pairs)
    return dict(zip((member.id for member in ordered), names, strict=True))


def join_groups(names: Sequence[str], pairs: Iterable[tuple[int, int]]) -> list[str]:
    """The group of each row: rows of one name and rows of a pair belong together. A group has its smallest name.

    >>> join_groups(["b", "b", "a", "c"], [(1, 2)])
    ['a', 'a', 'a', 'c']
    """
    groups = _UnionFind(len(names))
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        groups.join(first.setdefault(name, place), place)
    for left, right in pairs:
        groups.join(left, right)
    smallest: dict[int, str] = {}
    for place, name in enumerate(names):
        root = groups.root(place)
        smallest[root] = min(smallest.get(root, name), name)
    return [smallest[groups.root(place)] for place in range(len(names))]


def join_shared_answers(families: Sequence[str], answers: Sequence[tuple[str, str]], lent: Sequence[bool]) -> list[str]:
    """The family of each item, joined with those that share the text of an answer that another row lent.

    An answer that is right in one item and wrong in another can be remembered and turned round, so no fold may divide
    the two. `answers` are the right and the wrong one of each item; `lent` says whose wrong one comes from another row.

    >>> join_shared_answers(["b", "a", "c"], [("Oslo", "Bern"), ("Bern", "no"), ("Rome", "no")], [True, False, False])
    ['a', 'a', 'c']
    """
    keys = [tuple(map(equality_key, pair)) for pair in answers]
    first: dict[str, int] = {pair[1]: place for place, pair in enumerate(keys) if lent[place]}
    pairs = ((first[key], place) for place, pair in enumerate(keys) for key in pair if key and key in first)
    return join_groups(families, pairs)


def near_rows(rows: Sequence[Sequence[frozenset[str]]], threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of positions of rows with sets that are equal, or whose Jaccard index exceeds `threshold`.

    Not every such pair is given, but those that are given connect all of them.
    """
    owner: dict[frozenset[str], int] = {}
    for place, sets in enumerate(rows):
        for grams in filter(None, sets):
            first = owner.setdefault(grams, place)
            if first != place:
                yield first, place
    known = list(owner)
    for left, right in near_pairs(known, threshold):
        yield owner[known[left]], owner[known[right]]


def trigrams(text: str) -> frozenset[str]:
    """The character trigrams of the letters and digits of `text`; a shorter text is its only trigram.

    >>> sorted(trigrams("Ab, cd!"))
    ['abc', 'bcd']
    """
    bare = "".join(mark for mark in comparison_form(text) if mark.isalnum() or unicodedata.category(mark)[0] == "M")
    if len(bare) < 3:
        return frozenset({bare} - {""})
    return frozenset(bare[start : start + 3] for start in range(len(bare) - 2))


_DROPPED = frozenset({"Po", "Ps", "Pe", "Pi", "Pf", "Pc", "Zs", "Zl", "Zp", "Cc", "Cf"})
_SIGNS = frozenset("%&#@*/\\\u2030\u2031\u2032\u2033")
"""Punctuation marks that change what a text says."""


def equality_key(text: str) -> str:
    """The form in which two texts count as equal: without widths, case, white space and the punctuation of sentences.

    Signs such as ``+``, ``-`` and ``%`` remain, and so does every mark between digits.

    >>> equality_key("Ｂ超（1.5 ℃）？") == equality_key("b超, 1.5°C")
    True
    >>> equality_key("1.5") == equality_key("15"), equality_key("(+)") == equality_key("(-)")
    (False, False)
    """
    bare = comparison_form(unicodedata.normalize("NFKC", text))
    return "".join(mark for place, mark in enumerate(bare) if not _is_dropped(bare, place, mark))


def answers_after(question: str, statements: Sequence[str]) -> list[str]:
    """The answers in statements that answer one question: what follows what they have in common with the question.

    A statement that leaves the question earlier than others, at the verb that joins it to the answer, has their answer
    if it ends with it.

    >>> answers_after("The largest is what?", ["The largest is Jupiter.", "The largest was Jupiter."])
    ['jupiter', 'jupiter']
    """
    asked, keys = equality_key(question), [equality_key(statement) for statement in statements]
    starts = [_common_start(asked, key) for key in keys]
    last = max(starts, default=0)
    known = sorted({key[start:] for key, start in zip(keys, starts, strict=True) if start == last}, key=len)
    return [
        key[start:] if start == last else next((end for end in reversed(known) if key.endswith(end)), key[start:])
        for key, start in zip(keys, starts, strict=True)
    ]


def _common_start(left: str, right: str) -> int:
    """How many characters two texts share at their start."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(left), len(right)))


def _is_dropped(text: str, place: int, mark: str) -> bool:
    if mark in _SIGNS or unicodedata.category(mark) not in _DROPPED:
        return False
    return not (text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit())


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
