"""Sets of numbers as columns, such as the character trigrams of many texts, and the pairs of sets that are near."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.text.normalise import comparison_form

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pairs = tuple[Numbers, Numbers]
"""The positions of the left and of the right one of each pair."""
_TEXTS = 8_192
"""So many texts are taken apart at once."""
_COMPARED = 1 << 19
"""About so many pairs are compared at once."""
_CHARACTER_BITS = 21
"""So many bits hold every character, so three of them and a mark fit into 64."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class NumberSets:
    """Set ``i`` has the members from ``starts[i]`` up to ``starts[i + 1]``, in rising order."""

    starts: Numbers
    members: NDArray[np.uint64]

    @classmethod
    def of(cls, owners: Numbers, members: NDArray[np.uint64], count: int) -> NumberSets:
        """The sets of `count` owners; ``owners[i]`` has ``members[i]``, perhaps more than once."""
        order = np.lexsort((members, owners))
        owners, members = owners[order], members[order]
        first = np.ones(len(owners), bool)
        first[1:] = (owners[1:] != owners[:-1]) | (members[1:] != members[:-1])
        return cls(np.searchsorted(owners[first], np.arange(count + 1)).astype(np.int64), members[first])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sizes(self) -> Numbers:
        """How many members each set has."""
        return np.diff(self.starts)

    def digests(self) -> NDArray[np.uint64]:
        """A hash of each set, as two numbers."""
        held: Any = self.members
        held = memoryview(held).cast("B") if len(self.members) else b""
        hashes = bytearray()
        for low, high in pairwise(self.starts.tolist()):
            hashes += hashlib.blake2b(held[8 * low : 8 * high], digest_size=16).digest()
        return np.frombuffer(hashes, np.uint64).reshape(-1, 2)

    def take(self, places: Numbers) -> NumberSets:
        """The sets at these positions."""
        sizes = self.sizes()[places]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        members = np.empty(int(starts[-1]), np.uint64)
        for first in range(0, len(places), _TEXTS):
            some = slice(first, first + _TEXTS)
            held = self.members[_ranges(self.starts[places[some]], sizes[some])]
            members[starts[first] : starts[first] + len(held)] = held
        return NumberSets(starts, members)

    def common(self, left: Numbers, right: Numbers) -> Numbers:
        """How many members the sets of each pair share."""
        owners, members = list[Numbers](), list[NDArray[np.uint64]]()
        for side in (left, right):
            sizes = self.sizes()[side]
            owners.append(np.repeat(np.arange(len(side)), sizes))
            members.append(self.members[_ranges(self.starts[side], sizes)])
        owner, member = np.concatenate(owners), np.concatenate(members)
        order = np.lexsort((member, owner))
        owner, member = owner[order], member[order]
        twice = (owner[1:] == owner[:-1]) & (member[1:] == member[:-1])
        return np.bincount(owner[1:][twice], minlength=len(left)).astype(np.int64)

    def jaccard(self, left: Numbers, right: Numbers) -> NDArray[np.float64]:
        """The Jaccard index of each pair of sets; 0 if both are empty."""
        common, sizes = self.common(left, right), self.sizes()
        return common / np.maximum(sizes[left] + sizes[right] - common, 1)


def joined_sets(parts: Iterable[NumberSets]) -> NumberSets:
    """The sets of several parts, one part after the other; a part is not held once it was read."""
    members = bytearray()
    sizes: list[Numbers] = [np.zeros(1, np.int64)]
    for part in parts:
        members += part.members.tobytes()
        sizes.append(part.sizes())
    return NumberSets(np.cumsum(np.concatenate(sizes)), np.frombuffer(members, np.uint64))


def paired_sets(first: NumberSets, second: NumberSets) -> NumberSets:
    """Each set of `first` with that of `second` at its position; members of the second, below 63 bits, get a mark."""
    starts, sizes = first.starts + second.starts, first.sizes()
    members = np.empty(int(starts[-1]), np.uint64)
    members[_ranges(starts[:-1], sizes)] = first.members
    members[_ranges(starts[:-1] + sizes, second.sizes())] = second.members | np.uint64(1 << 63)
    return NumberSets(starts, members)


def trigram_sets(texts: Iterable[str]) -> NumberSets:
    """The character trigrams of each text as numbers; see `trigrams`. None is above 63 bits."""
    rest = iter(texts)
    return joined_sets(map(_trigrams_of, iter(lambda: list(islice(rest, _TEXTS)), [])))


def _trigrams_of(texts: Sequence[str]) -> NumberSets:
    forms = [comparison_form(text) for text in texts]
    owners = np.repeat(np.arange(len(forms)), np.fromiter(map(len, forms), np.int64, len(forms)))
    signs = np.frombuffer("".join(forms).encode("utf-32-le", "surrogatepass"), np.uint32)
    different, places = np.unique(signs, return_inverse=True)
    counted = np.array([_is_counted(chr(sign)) for sign in different.tolist()], bool)[places.reshape(-1)]
    owners, codes = owners[counted], signs[counted].astype(np.uint64)
    bits = np.uint64(_CHARACTER_BITS)
    last = np.searchsorted(owners, owners, side="right") - 1
    here = np.arange(len(owners))
    first = here == np.searchsorted(owners, owners)
    padded = np.concatenate([codes, np.zeros(2, np.uint64)])
    second, third = (np.where(here + step <= last, padded[here + step], np.uint64(0)) for step in (1, 2))
    whole = (here + 2 <= last) | first  # a shorter text is its only trigram
    members = ((codes << bits | second) << bits | third)[whole]
    return NumberSets.of(owners[whole], members, len(forms))


def _is_counted(sign: str) -> bool:
    """Whether a character is a letter, a digit, or a mark of one."""
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


def content_keys(texts: Iterable[Sequence[str]]) -> NDArray[np.uint64]:
    """A hash of each row of texts, as two numbers."""
    digests = bytearray()
    for row in texts:
        digests += hashlib.blake2b(_joined(row), digest_size=16).digest()
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)


def _joined(texts: Sequence[str]) -> bytes:
    return "".join(f"{len(text)}:{text}" for text in texts).encode("utf-8", "surrogatepass")


def first_equal(keys: NDArray[np.uint64]) -> Numbers:
    """For each line of two numbers the position of the first line that equals it."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    begins = np.ones(len(keys), bool)
    begins[1:] = (keys[order][1:] != keys[order][:-1]).any(axis=1)
    first = np.empty(len(keys), np.int64)
    first[order] = order[begins][np.cumsum(begins) - 1]
    return first


def near_or_equal_sets(sets: NumberSets, threshold: float, places: Numbers) -> Iterator[Pairs]:
    """Pairs of positions among `places` of sets that are equal, or whose Jaccard index exceeds `threshold`.

    Not every such pair is given, but those that are given connect all of them.
    """
    first = first_equal(sets.digests()[places])
    again = np.flatnonzero(first != np.arange(len(first)))
    for start in range(0, len(again), _TEXTS):
        some = again[start : start + _TEXTS]
        yield places[first[some]], places[some]
    known = places[first == np.arange(len(first))]
    for left, right in near_sets(sets.take(known), threshold):
        yield known[left], known[right]


def near_sets(sets: NumberSets, threshold: float) -> Iterator[Pairs]:
    """The positions of sets whose Jaccard index exceeds `threshold`, each pair once, the smaller set first.

    Two such sets must share one of their rarest members, so only sets that do are compared (prefix filtering).
    Signatures say of most pairs that they differ in too many members.
    """
    order = np.argsort(sets.sizes(), kind="stable")
    sizes = sets.sizes()[order]
    ranked = _by_rarity(sets, order)
    del sets
    alone = sizes - ranked.sizes()
    least = np.ceil(threshold * sizes - 1e-9).astype(np.int64)
    prefix = np.where(sizes > 0, sizes - np.maximum(least, 1) + 1, 0)
    marks = _signatures(ranked)
    widest = (1 - threshold) / (1 + threshold)

    def maybe(left: Numbers, right: Numbers) -> Mask:
        """Which pairs do not differ in too many bits."""
        spare = (sizes[left] + sizes[right]) * widest + 1e-6 - alone[left] - alone[right]
        places = np.arange(len(left))
        for word in marks:  # a bit that differs is a member that differs, so each word leaves fewer to look at
            spare = spare - _count_bits(word[left[places]] ^ word[right[places]])
            places, spare = places[spare >= 0], spare[spare >= 0]
        return np.isin(np.arange(len(left)), places, assume_unique=True)

    smallest = np.searchsorted(sizes, least).astype(np.uint64)
    for left, right in _sharing(ranked, np.maximum(prefix - alone, 0), smallest, maybe):
        for start in range(0, len(left), _TEXTS):
            one, other = left[start : start + _TEXTS], right[start : start + _TEXTS]
            common = ranked.common(one, other)
            near = common / (sizes[one] + sizes[other] - common) > threshold
            if near.any():
                yield order[one[near]], order[other[near]]


def repeated_members(members: NDArray[np.uint64], times: int) -> tuple[NDArray[np.uint64], Numbers]:
    """The numbers that occur more than `times` times, in rising order, and how often each does.

    >>> [found.tolist() for found in repeated_members(np.array([3, 1, 3, 2, 2, 2], np.uint64), 1)]
    [[2, 3], [3, 2]]
    """
    held = np.sort(members)
    again = held[times:] == held[: max(len(held) - times, 0)]
    again[1:] &= ~again[:-1]
    values = held[times:][again]
    return values, np.searchsorted(held, values, side="right") - np.searchsorted(held, values)


def _by_rarity(sets: NumberSets, order: Numbers) -> NumberSets:
    """The sets in this order, with the ranks of the members that several sets have; the rarest is the lowest."""
    values, counts = repeated_members(sets.members, 1)
    rank_of = np.empty(len(values), np.uint64)
    rank_of[np.argsort(counts, kind="stable")] = np.arange(len(values), dtype=np.uint64)

    def part(first: int) -> NumberSets:
        some = sets.take(order[first : first + _TEXTS])
        owners = np.repeat(np.arange(len(some), dtype=np.uint64), some.sizes())
        places = np.searchsorted(values, some.members)
        shared = places < len(values)
        shared[shared] = values[places[shared]] == some.members[shared]
        entries = owners[shared] << _HALF | rank_of[places[shared]]
        entries.sort()
        starts = np.searchsorted(entries >> _HALF, np.arange(len(some) + 1, dtype=np.uint64))
        return NumberSets(starts.astype(np.int64), entries & _LOW)

    return joined_sets(map(part, range(0, len(order), _TEXTS)))


def _rare_members(ranked: NumberSets, prefix: Numbers) -> NDArray[np.uint64]:
    """The first members of each set, as many as `prefix` says: each with the set in its lower half, all in order."""
    ends = np.cumsum(prefix)
    entries = np.empty(int(ends[-1]) if len(ends) else 0, np.uint64)
    for first in range(0, len(prefix), _TEXTS):
        some = prefix[first : first + _TEXTS]
        members = ranked.members[_ranges(ranked.starts[first : first + len(some)], some)]
        owners = np.repeat(np.arange(first, first + len(some), dtype=np.uint64), some)
        stop = int(ends[first + len(some) - 1])
        entries[stop - len(owners) : stop] = members << _HALF | owners
    entries.sort()
    return entries


def _sharing(
    ranked: NumberSets, prefix: Numbers, smallest: NDArray[np.uint64], keep: Callable[[Numbers, Numbers], Mask]
) -> Iterator[Pairs]:
    """Each pair of sets that share one of their first members, as many as `prefix` says, the earlier set first.

    `smallest` says for each set which one is the first that is large enough for it; `keep` chooses among the pairs.
    """
    entries, count = _rare_members(ranked, prefix), len(ranked)
    held = np.zeros(0, np.int64)  # pairs of a set of which more members are to come
    for first in range(0, count, _TEXTS):
        owners, begins, counts = _earlier(entries, ranked, prefix, smallest, slice(first, first + _TEXTS))
        ends, start = np.cumsum(counts), 0
        while start < len(owners):
            done = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _COMPARED, side="right")))
            some = slice(start, stop)
            left = (entries[_ranges(begins[some], counts[some])] & _LOW).astype(np.int64)
            pairs = np.repeat(owners[some], counts[some]) * count + left
            lowest = int(owners[start]) * count
            if (int(owners[stop - 1]) + 1) * count - lowest <= 8 * len(pairs):  # long texts share many rare members
                seen = np.zeros((int(owners[stop - 1]) + 1) * count - lowest, bool)
                seen[pairs - lowest] = True
                pairs = np.flatnonzero(seen) + lowest
            pairs = np.union1d(held, pairs[keep(pairs % count, pairs // count)])
            last = int(np.searchsorted(pairs, int(owners[stop - 1]) * count))
            yield pairs[:last] % count, pairs[:last] // count
            held, start = pairs[last:], stop
    yield held % max(count, 1), held // max(count, 1)


def _earlier(
    entries: NDArray[np.uint64], ranked: NumberSets, prefix: Numbers, smallest: NDArray[np.uint64], some: slice
) -> tuple[Numbers, Numbers, Numbers]:
    """For each first member of `some` sets its owner, and where in `entries` earlier owners stand and how many."""
    sizes = prefix[some]
    keys = ranked.members[_ranges(ranked.starts[some.start : some.start + len(sizes)], sizes)] << _HALF
    keys |= np.repeat(np.arange(some.start, some.start + len(sizes), dtype=np.uint64), sizes)
    keys.sort()  # a search for rising keys reads the memory in order
    owners = (keys & _LOW).astype(np.int64)
    begins = np.searchsorted(entries, keys >> _HALF << _HALF | smallest[owners])
    counts = np.searchsorted(entries, keys) - begins
    by_owner = np.argsort(owners, kind="stable")
    return owners[by_owner], begins[by_owner], counts[by_owner]


def _signatures(sets: NumberSets) -> list[NDArray[np.uint64]]:
    """For each set a number of bits in words of 64: a bit is set by the members that fall on it.

    There are about twice as many bits as a large set has members: were all bits set, they would tell nothing apart.
    """
    large = int(np.quantile(sizes, 0.9)) if len(sizes := sets.sizes()) else 0
    power = min(max(7, (2 * large).bit_length()), 10)
    words = [np.zeros(len(sets), np.uint64) for _ in range(1 << power - 6)]
    filled = np.flatnonzero(sizes > 0)
    for first in range(0, len(filled), _TEXTS):
        some = filled[first : first + _TEXTS]
        begins = sets.starts[some]
        members = sets.members[begins[0] : sets.starts[some[-1] + 1]]
        bits = (members + np.uint64(1)) * _MIXER >> np.uint64(64 - power)
        marked = np.uint64(1) << (bits & np.uint64(63))
        for number, word in enumerate(words):
            there = np.where(bits >> np.uint64(6) == number, marked, np.uint64(0))
            word[some] = np.bitwise_or.reduceat(there, begins - begins[0])
    return words


def _count_bits(words: NDArray[np.uint64]) -> Numbers:
    ones, twos, fours = (np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
    words = words - (words >> np.uint64(1) & ones)
    words = (words & twos) + (words >> np.uint64(2) & twos)
    words = words + (words >> np.uint64(4)) & fours
    return (words * np.uint64(0x0101010101010101) >> np.uint64(56)).astype(np.int64)


def _ranges(first: Numbers, sizes: Numbers) -> Numbers:
    """The numbers from each of `first` on, as many as `sizes` says."""
    ends = np.cumsum(sizes)
    return np.repeat(first - (ends - sizes), sizes) + np.arange(int(ends[-1]) if len(ends) else 0)
