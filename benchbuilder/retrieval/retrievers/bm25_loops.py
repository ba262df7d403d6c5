"""The loops that answer many queries of BM25, for numba to compile: the same scores as NumPy, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchbuilder.retrieval.base import TokenColumns
from benchbuilder.retrieval.retrievers.array_cache import Array
from benchbuilder.retrieval.retrievers.bm25_build import IndexedTerm

Loop = TypeVar("Loop", bound=Callable[..., Any])


_LEAST = 5e-324
"""The smallest score above zero."""


def _load_numba() -> Any:
    try:
        return importlib.import_module("numba")
    except ImportError:  # not installed, or it does not know this NumPy
        return None


_numba = _load_numba()
COMPILED = _numba is not None
"""Whether the loops are compiled; if not, they are plain Python, and far slower than NumPy."""


def _compiled(loop: Loop) -> Loop:
    """Compile `loop` when it is first called.

    The machine code is kept where Python keeps its own: beside the module, or else in the user's cache. If neither
    folder is writable, every process compiles for itself.
    """
    if _numba is None:
        return loop
    try:
        return _numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:
        return _numba.njit(nogil=True)(loop)


class Postings(NamedTuple):
    """The postings of one knowledge base, and what a term adds to a text besides its weight.

    Attributes:
        documents: The text of each posting, unsigned.
        weights: Its weight.
        plus: Whether a term adds to every text: its idf times `delta` plus the weight, which is 0 without a posting.
        delta: See `plus`.
    """

    documents: Array
    weights: Array
    plus: bool
    delta: float


class Asked(NamedTuple):
    """The terms of many queries, in order; one that the index lacks has no postings.

    Attributes:
        cuts: Where the terms of each query begin, and where those of the last one end, shape (queries + 1,).
        starts: Where the postings of each term begin.
        ends: Where they end.
        idf: The inverse document frequency of each term.
    """

    cuts: Array
    starts: Array
    ends: Array
    idf: Array

    @classmethod
    def of(cls, queries: TokenColumns, known: Sequence[IndexedTerm | None]) -> Asked:
        """The terms of `queries`; `known` are their distinct tokens in the index."""
        terms = [(0, 0, 0.0) if term is None else term[:3] for term in known]
        starts, ends = (np.array([term[at] for term in terms], np.int64)[queries.tokens] for at in range(2))
        idf = np.array([term[2] for term in terms], np.float64)[queries.tokens]
        cuts = np.concatenate([np.zeros(1, np.int64), np.cumsum(queries.lengths, dtype=np.int64)])
        return cls(cuts, starts, ends, idf)

    def some(self, first: int, end: int) -> Asked:
        """The queries from the one numbered `first` to the one before `end`."""
        return self._replace(cuts=self.cuts[first : end + 1])


def search_queries(postings: Postings, asked: Asked, scores: Array, best: int, sign: int) -> tuple[Array, Array]:
    """The best texts of each query and their scores, best first.

    Args:
        postings: What is searched.
        asked: The queries.
        scores: One zero per text; zeros again at the end.
        best: How many texts per query.
        sign: Of texts with equal scores the first (1) or the last (-1) is better.

    Returns:
        Positions and scores, shape (queries, best); where the score is zero there is no text.
    """
    count = len(asked.cuts) - 1
    ranks, found = np.zeros((count, best), np.int64), np.zeros((count, best))
    reached = np.zeros(len(scores) if postings.plus else 0, np.int32)
    _search(*postings, *asked, scores, reached, sign, ranks, found)
    order = np.lexsort((ranks, -found))
    return sign * np.take_along_axis(ranks, order, 1), np.take_along_axis(found, order, 1)


@_compiled
def _search(
    documents: Any, weights: Any, plus: bool, delta: float, cuts: Any, starts: Any, ends: Any, idf: Any, scores: Any,
    reached: Any, sign: int, ranks: Any, found: Any,
) -> None:  # fmt: skip
    for query in range(len(cuts) - 1):
        own = slice(cuts[query], cuts[query + 1])
        if plus:
            _add_to_all(documents, weights, delta, starts[own], ends[own], idf[own], scores, reached)
            _finish(documents, delta, starts[own], ends[own], idf[own], scores, reached)
        else:
            _add(documents, weights, starts[own], ends[own], scores)
        _take_best(documents, starts[own], ends[own], scores, sign, ranks[query], found[query])


@_compiled
def _add(documents: Any, weights: Any, starts: Any, ends: Any, scores: Any) -> None:
    """Add up the weights of the terms, in the order of the query."""
    for term in range(len(starts)):
        for at in range(starts[term], ends[term]):
            scores[documents[at]] += weights[at]


@_compiled
def _add_to_all(
    documents: Any, weights: Any, delta: float, starts: Any, ends: Any, idf: Any, scores: Any, reached: Any
) -> None:
    """The same if terms add to every text: terms that a text lacks are made up for when a later one is met.

    `reached` counts the terms that each text has had.
    """
    for term in range(len(starts)):
        for at in range(starts[term], ends[term]):
            text = documents[at]
            for lacking in range(reached[text], term):
                scores[text] += idf[lacking] * delta
            scores[text] += idf[term] * (delta + weights[at])
            reached[text] = term + 1


@_compiled
def _finish(documents: Any, delta: float, starts: Any, ends: Any, idf: Any, scores: Any, reached: Any) -> None:
    """Make up for the last terms that the texts lack."""
    for term in range(len(starts)):
        for at in range(starts[term], ends[term]):
            text = documents[at]
            if reached[text]:
                for lacking in range(reached[text], len(starts)):
                    scores[text] += idf[lacking] * delta
                reached[text] = 0


@_compiled
def _take_best(documents: Any, starts: Any, ends: Any, scores: Any, sign: int, ranks: Any, found: Any) -> None:
    """Put the best texts into a heap, worst on top, and set all scores back to zero.

    One comparison decides: two of them would be guessed wrong by the processor at every text that two terms share.
    """
    size, least = 0, _LEAST
    for term in range(len(starts)):
        for at in range(starts[term], ends[term]):
            text = documents[at]
            score = scores[text]
            scores[text] = 0.0
            if score >= least:
                size = _put(ranks, found, size, sign * np.int64(text), score)
                if size == len(found):
                    least = found[0]


@_compiled
def _put(ranks: Any, found: Any, size: int, rank: Any, score: float) -> int:
    """Put a text into the heap if there is room or if it is better than the worst; the size of the heap."""
    at = 0
    if size < len(found):
        at, size = size, size + 1
        while at > 0:
            above = (at - 1) // 2
            if not _worse(score, rank, found[above], ranks[above]):
                break
            found[at], ranks[at], at = found[above], ranks[above], above
    elif not _worse(found[0], ranks[0], score, rank):
        return size
    else:
        while 2 * at + 1 < size:
            below = 2 * at + 1
            if below + 1 < size and _worse(found[below + 1], ranks[below + 1], found[below], ranks[below]):
                below += 1
            if not _worse(found[below], ranks[below], score, rank):
                break
            found[at], ranks[at], at = found[below], ranks[below], below
    found[at], ranks[at] = score, rank
    return size


@_compiled
def _worse(score: float, rank: int, other_score: float, other_rank: int) -> bool:
    """Whether a text comes after another one."""
    return score < other_score or (score == other_score and rank > other_rank)
