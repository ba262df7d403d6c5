"""A dictionary as a trie in arrays: NumPy finds the words that begin at each position of a text, all at once."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any, NamedTuple

import numpy as np

from benchbuilder.retrieval.tokenizers.jieba_words import JiebaDictionary

Array = np.ndarray[Any, np.dtype[Any]]

_CHARACTER = 21
"""A step of the trie is one number: the node in the bits above this one, the character in those below."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Multiplied with it, a step is spread over the table (Fibonacci hashing)."""
CHARACTERS = 0x110000
"""More than the highest code point."""


def code_points(text: str) -> Array:
    """The code points of `text`."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)


class WordEdges(NamedTuple):
    """The words that begin at each position, shorter ones first.

    Attributes:
        starts: Where the words of each position begin, shape (positions + 1,).
        sizes: The length of each word.
        weights: The logarithm of its relative frequency.
        nodes: Its node in the trie; 0 for a single character that is no word.
    """

    starts: Array
    sizes: Array
    weights: Array
    nodes: Array


class WordTrie:
    """The words of a dictionary. Node 0 is the root; every other node is the beginning of a word."""

    def __init__(self, dictionary: JiebaDictionary) -> None:
        known = {word: count for word, count in dictionary.frequencies.items() if word and count}
        self.words = list(known)
        all_words = log(dictionary.total)
        self._single = log(1) - all_words
        counts, back = np.unique(np.fromiter(known.values(), np.int64, len(known)), return_inverse=True)
        weights = np.array([log(count) - all_words for count in counts.tolist()])[back.reshape(-1)]
        steps, self.word_of = self._grow()
        self._weights = np.full(len(self.word_of), -np.inf)
        is_word = self.word_of >= 0
        self._weights[is_word] = weights[self.word_of[is_word]]
        self._first = np.zeros(CHARACTERS, np.int32)
        self._put_steps(steps)

    def _grow(self) -> tuple[Array, Array]:
        """The step that leads to each node but the root, and the word that ends in each node (-1: none)."""
        letters = code_points("".join(self.words))
        sizes = np.fromiter(map(len, self.words), np.int64, len(self.words))
        begins = np.cumsum(sizes) - sizes
        active, nodes, count = np.arange(len(sizes)), np.zeros(len(sizes), np.int64), 1
        steps: list[Array] = [np.zeros(0, np.int64)]
        ends: list[Array] = [np.full(1, -1, np.int64)]
        size = 0
        while len(active):
            made, nodes = np.unique((nodes << _CHARACTER) | letters[begins[active] + size], return_inverse=True)
            nodes, size = nodes.reshape(-1), size + 1
            ending = sizes[active] == size
            words = np.full(len(made), -1, np.int64)
            words[nodes[ending]] = active[ending]
            steps.append(made)
            ends.append(words)
            active, nodes = active[~ending], nodes[~ending] + count
            count += len(made)
        return np.concatenate(steps), np.concatenate(ends)

    def _put_steps(self, steps: Array) -> None:
        """Put each step into a table of steps by hash; those from the root have a table of their own."""
        nodes = np.arange(1, len(steps) + 1)
        from_root = steps < (1 << _CHARACTER)
        self._first[steps[from_root]] = nodes[from_root]
        steps, nodes = steps[~from_root], nodes[~from_root]
        self._goes_on = np.zeros(len(self.word_of), bool)
        self._goes_on[steps >> _CHARACTER] = True
        bits = max(4, (2 * len(steps)).bit_length())
        self._shift, self._mask = np.uint64(64 - bits), (1 << bits) - 1
        self._steps, self._nodes = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int32)
        places, left = self._places(steps), np.arange(len(steps))
        while len(left):
            free = left[self._steps[places[left]] == 0]
            self._steps[places[free]] = steps[free]
            left = left[self._steps[places[left]] != steps[left]]
            places[left] = (places[left] + 1) & self._mask
        self._nodes[places] = nodes

    def _places(self, steps: Array) -> Array:
        return ((steps.view(np.uint64) * _SPREAD) >> self._shift).view(np.int64)

    def _next(self, nodes: Array, letters: Array) -> tuple[Array, Array]:
        """Which of the nodes go on with their letter, in no certain order, and the nodes there."""
        steps = (nodes.astype(np.int64) << _CHARACTER) | letters
        places, left = self._places(steps), np.arange(len(steps))
        going, found = list[Array](), list[Array]()
        while len(left):
            held = self._steps[places]
            hit = np.flatnonzero(held == steps)
            going.append(left[hit])
            found.append(self._nodes[places[hit]])
            missed = np.flatnonzero((held != steps) & (held != 0))
            left, steps, places = left[missed], steps[missed], (places[missed] + 1) & self._mask
        return np.concatenate([np.zeros(0, np.int64), *going]), np.concatenate([np.zeros(0, np.int32), *found])

    def edges(self, letters: Array) -> WordEdges:
        """The words that begin at each position of `letters`; none crosses a 0, and none begins there.

        The last one of the `letters` must be 0. A position where no word begins gets its single character, with the
        weight of a word that was seen once.
        """
        counts = np.zeros(len(letters), np.int64)
        levels = list(self._levels(letters))
        for places, _ in levels:
            counts[places] += 1
        alone = np.flatnonzero((counts == 0) & (letters != 0))
        counts[alone] = 1
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        sizes, weights = np.ones(int(starts[-1]), np.int32), np.empty(int(starts[-1]))
        nodes, free = np.zeros(int(starts[-1]), np.int32), starts[:-1].copy()
        weights[starts[alone]] = self._single
        for size, (places, ends) in enumerate(levels, 1):
            slots = free[places]
            sizes[slots], weights[slots], nodes[slots] = size, self._weights[ends], ends
            free[places] += 1
        return WordEdges(starts, sizes, weights, nodes)

    def _levels(self, letters: Array) -> Iterator[tuple[Array, Array]]:
        """For each length, from 1: where a word of this length begins, and its node."""
        first = self._first[letters]
        places = np.flatnonzero(first)
        nodes, size = first[places], 1
        while len(places):
            is_word = np.flatnonzero(self.word_of[nodes] >= 0)  # taking by number is far faster than by a mask
            yield places[is_word], nodes[is_word]
            following = letters[places + size]
            live = np.flatnonzero(self._goes_on[nodes] & (following != 0))
            going, nodes = self._next(nodes[live], following[live])
            places, size = places[live[going]], size + 1
