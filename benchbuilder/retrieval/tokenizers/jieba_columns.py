"""Cuts many texts like jieba at once: the routes through all of them are found together, by NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchbuilder.retrieval.base import TokenColumns
from benchbuilder.retrieval.tokenizers.hidden_states import FIRST_SIGN, LAST_SIGN, guess_words, later_words
from benchbuilder.retrieval.tokenizers.jieba_words import JiebaDictionary, joins
from benchbuilder.retrieval.tokenizers.word_trie import CHARACTERS, WordEdges, WordTrie, code_points

Array = np.ndarray[Any, np.dtype[Any]]
_SEPARATOR = "\x00"
_LEAST = 1 << 14
"""Characters of which it is worth while to count the tokens by the numbers of all words."""
_MOST = 1 << 19
"""Characters that are cut together: some 150 bytes of memory for each."""
_PER_STEP = 64
"""Characters per step along the longest run: below, a step takes longer than cutting so many one after another."""


class ColumnCutter:
    """Cuts by a dictionary, and guesses words in the runs of single characters that remain."""

    def __init__(self, dictionary: JiebaDictionary) -> None:
        self._dictionary = dictionary
        self._trie = WordTrie(dictionary)
        self._words = np.array(self._trie.words, object)
        self._joins = np.zeros(CHARACTERS, bool)
        self._joins[[code for code in range(0x10000) if joins(chr(code))]] = True
        # a token is a number: the node of a word, a character, or one of the others
        self._character = len(self._trie.word_of)
        self._others: dict[str, int] = {}
        self._spelled: list[str] = []

    def cut(self, texts: Sequence[str]) -> TokenColumns | None:
        """The tokens of each text; ``None`` where one text after another is sooner done."""
        size = sum(map(len, texts))
        if not texts or size < _LEAST:
            return None
        lengths, codes = list[Array](), list[Array]()
        for some in _batches(texts, size / math.ceil(max(1, size) / _MOST)):
            cut = self._cut_batch(some)
            if cut is None:
                return None
            lengths.append(cut[0])
            codes.append(cut[1])
        return self._columns(np.concatenate(lengths), np.concatenate(codes))

    def _cut_batch(self, texts: Sequence[str]) -> tuple[Array, Array] | None:
        """The number of tokens of each text, and all tokens; ``None`` for too long a run or text."""
        whole = _SEPARATOR.join([*texts, ""])
        points = code_points(whole)
        letters = np.where(self._joins[points], points, 0)
        starts, ends = _runs(letters != 0)
        longest = int((ends - starts).max(initial=0))
        if len(points) > 2 * _MOST or len(points) < _PER_STEP * longest:
            return None
        edges = self._trie.edges(letters)
        begins, codes = self._route(letters, edges, points)
        self._guess(whole, points, begins, codes)
        self._join_line_ends(points, begins, codes)
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        ends = np.cumsum(sizes + 1)
        begins[ends - 1] = False  # separators
        counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
        lengths = np.diff(counted[np.concatenate([np.zeros(1, np.int64), ends])])
        return lengths, codes[np.flatnonzero(begins)]

    def _route(self, letters: Array, edges: WordEdges, points: Array) -> tuple[Array, Array]:
        """Where a token begins on the most likely route, and which token begins at each position."""
        picked = _best_edges(letters, edges)
        begins, codes = letters == 0, points + self._character
        at, _ = _runs(letters != 0)
        while len(at):
            begins[at] = True
            edge = picked[at]
            sizes = edges.sizes[edge]
            long = np.flatnonzero(sizes > 1)
            codes[at[long]] = edges.nodes[edge[long]]
            at = at + sizes
            at = at[np.flatnonzero(letters[at])]
        return begins, codes

    def _guess(self, whole: str, points: Array, begins: Array, codes: Array) -> None:
        """Cut each run of two or more single characters again, unless it is a word that another one won over."""
        single = begins & np.append(begins[1:], True) & self._joins[points]
        known = self._dictionary.frequencies
        starts, ends = _runs(single)
        longer = ends - starts > 1
        runs = zip(starts[longer].tolist(), ends[longer].tolist(), strict=True)
        kept = [(start, end) for start, end in runs if not known.get(whole[start:end])]
        starts, ends = np.array(kept, np.int64).reshape(-1, 2).T
        guessed = _within(starts, ends, len(begins))
        begins[_within(starts + 1, ends, len(begins))] = False
        signs = np.concatenate([[0], np.cumsum((points >= FIRST_SIGN) & (points <= LAST_SIGN))])
        chinese = signs[ends] - signs[starts] == ends - starts
        begins[later_words(points, starts[chinese], ends[chinese])] = True
        for start, end in zip(starts[~chinese].tolist(), ends[~chinese].tolist(), strict=True):
            sizes = [len(token) for token in guess_words(whole[start:end])]
            begins[start + np.cumsum([0, *sizes[:-1]])] = True
        places = np.flatnonzero(begins)
        sizes = np.diff(places, append=len(begins))
        longer = guessed[places] & (sizes > 1)
        for place, size in zip(places[longer].tolist(), sizes[longer].tolist(), strict=True):
            codes[place] = self._code(whole[place : place + size])

    def _join_line_ends(self, points: Array, begins: Array, codes: Array) -> None:
        both = np.flatnonzero((points[:-1] == 13) & (points[1:] == 10))
        begins[both + 1] = False
        codes[both] = self._code("\r\n")

    def _code(self, token: str) -> int:
        """The number of a token that is neither a word on a route nor a single character."""
        code = self._others.get(token)
        if code is None:
            code = self._others[token] = self._character + CHARACTERS + len(self._spelled)
            self._spelled.append(token)
        return code

    def _columns(self, lengths: Array, codes: Array) -> TokenColumns:
        """Number the tokens by their spelling, in order of first occurrence."""
        first = np.zeros(self._character + CHARACTERS + len(self._spelled), np.int32)
        first[codes[::-1]] = np.arange(len(codes), 0, -1, dtype=np.int32)  # of equal codes, the last one written stays
        seen = np.flatnonzero(first)
        seen = seen[np.argsort(first[seen])]
        known: dict[str, int] = {}
        first[seen] = [known.setdefault(token, len(known)) for token in self._spellings(seen)]
        return TokenColumns(lengths.astype("<i4"), first[codes], list(known))

    def _spellings(self, codes: Array) -> list[str]:
        words = codes < self._character
        spelled = np.empty(len(codes), object)
        spelled[words] = self._words[self._trie.word_of[codes[words]]]
        rest = (codes[~words] - self._character).tolist()
        spelled[~words] = [chr(code) if code < CHARACTERS else self._spelled[code - CHARACTERS] for code in rest]
        return spelled.tolist()


def _batches(texts: Sequence[str], least: float) -> Iterator[list[str]]:
    """The texts in batches of `least` characters, or of as few more as there may be."""
    held, size = list[str](), 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size >= least:
            yield held
            held, size = [], 0
    if held:
        yield held


def _runs(mask: Array) -> tuple[Array, Array]:
    """Where the runs of true values begin and end."""
    joined = np.concatenate([[False], mask, [False]])
    return np.flatnonzero(joined[1:] & ~joined[:-1]), np.flatnonzero(joined[:-1] & ~joined[1:])


def _within(starts: Array, ends: Array, size: int) -> Array:
    """The mask of what is between `starts` and `ends`, which do not overlap."""
    change = np.zeros(size + 1, np.int8)
    change[starts] += 1
    change[ends] -= 1
    return np.cumsum(change[:-1], dtype=np.int8) > 0


def _best_edges(letters: Array, edges: WordEdges) -> Array:
    """The first word of the most likely route from each position to the end of its run; ties go to the longer word.

    All runs are walked at the same time, from their ends.
    """
    starts, ends = _runs(letters != 0)
    order = np.argsort(starts - ends, kind="stable")
    ends, sizes = ends[order], (ends - starts)[order]
    score, picked = np.zeros(len(letters) + 1), np.zeros(len(letters), np.int64)
    running = len(sizes) - np.searchsorted(sizes[::-1], np.arange(1, int(sizes[0]) + 1 if len(sizes) else 1))
    for back, count in enumerate(running.tolist(), 1):
        places = ends[:count] - back
        edge, stop = edges.starts[places], edges.starts[places + 1]
        best, pick = edges.weights[edge] + score[places + edges.sizes[edge]], edge.copy()
        some = np.flatnonzero(edge + 1 < stop)
        while len(some):
            edge[some] += 1
            tried = edge[some]
            value = edges.weights[tried] + score[places[some] + edges.sizes[tried]]
            better = np.flatnonzero(value >= best[some])
            best[some[better]], pick[some[better]] = value[better], tried[better]
            some = some[np.flatnonzero(tried + 1 < stop[some])]
        score[places], picked[places] = best, pick
    return picked
