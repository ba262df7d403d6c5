"""Near duplicates: texts with overlapping character trigrams, and the groups that they form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchbuilder.core.text.near_sets import content_keys, first_equal, near_or_equal_sets, trigram_sets
from benchbuilder.core.text.normalise import comparison_form


def join_groups(names: Sequence[str], pairs: Iterable[tuple[int, int]]) -> list[str]:
    """The group of each row: rows of one name and rows of a pair belong together. A group has its smallest name.

    >>> join_groups(["b", "b", "a", "c"], [(1, 2)])
    ['a', 'a', 'a', 'c']
    """
    ordered = sorted(set(names))
    number_of = {name: number for number, name in enumerate(ordered)}
    smallest = join_numbers(len(ordered), ((number_of[names[one]], number_of[names[other]]) for one, other in pairs))
    return [ordered[smallest[number_of[name]]] for name in names]


def join_numbers(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each number below `count` the smallest of its group: numbers of a pair belong together.

    >>> join_numbers(4, [(2, 1), (3, 2)])
    [0, 1, 1, 1]
    """
    above = list(range(count))

    def root(number: int) -> int:
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    for one, other in pairs:
        first, second = sorted((root(one), root(other)))
        above[second] = first
    return [root(number) for number in range(count)]


def join_shared_answers(families: Sequence[str], answers: Iterable[tuple[str, str]], lent: Sequence[bool]) -> list[str]:
    """The family of each item, joined with those that share the text of an answer that another row lent.

    An answer that is right in one item and wrong in another can be remembered and turned round, so no fold may divide
    the two. `answers` are the right and the wrong one of each item; `lent` says whose wrong one comes from another row.

    >>> join_shared_answers(["b", "a", "c"], [("Oslo", "Bern"), ("Bern", "no"), ("Rome", "no")], [True, False, False])
    ['a', 'a', 'c']
    """
    if not any(lent):
        return list(families)
    keys = content_keys((equality_key(text),) for pair in answers for text in pair)
    first = first_equal(keys)
    shared = np.zeros(len(first), bool)
    shared[first[1::2][np.asarray(lent, bool)]] = True
    places = np.flatnonzero(shared[first] & (keys != content_keys([("",)])).any(axis=1))
    return join_groups(families, zip((first[places] // 2).tolist(), (places // 2).tolist(), strict=True))


def near_texts(texts: Iterable[str], threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of positions of texts whose trigrams are equal, or have a Jaccard index that exceeds `threshold`.

    Not every such pair is given, but those that are given connect all of them. Texts without trigrams have no pairs.
    """
    sets = trigram_sets(texts)
    for left, right in near_or_equal_sets(sets, threshold, np.flatnonzero(sets.sizes() > 0)):
        yield from zip(left.tolist(), right.tolist(), strict=True)


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
_MARK = re.compile(r"[\W_]")
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
    return _MARK.sub(lambda found: "" if _is_dropped(bare, found.start(), found[0]) else found[0], bare)


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


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """The Jaccard index: the size of the intersection over that of the union; 0 for empty sets."""
    common = len(first & second)
    return common / (len(first) + len(second) - common) if common else 0.0
