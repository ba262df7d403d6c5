"""The loops that answer many queries of BM25, for numba to compile: the same scores as NumPy, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchbuilder.retrieval.retrievers.array_cache import Array
from benchbuilder.retrieval.retrievers.bm25_build import IndexedTerm

Loop = TypeVar("Loop", bound=Callable[..., Any])


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


def search_queries(
    postings: Postings, queries: Sequence[Sequence[IndexedTerm]], scores: Array, best: int, sign: int
) -> tuple[Array, Array]:
    """The best texts of each query and their scores, best first.

    Args:
        postings: What is searched.
        queries: The terms of each query, in order.
        scores: One zero per text; zeros again at the end.
        best: How many texts per query.
        sign: Of texts with equal scores the first (1) or the last (-1) is better.

    Returns:
        Positions and scores, shape (queries, best); where the score is zero there is no text.
    """
    cuts = np.cumsum([0, *map(len, queries)])
    terms = [term for query in queries for term in query]
    starts, ends = (np.array([term[at] for term in terms], np.int64) for at in range(2))
    idf = np.array([term.idf for term in terms], np.float64)
    ranks, found = np.zeros((len(queries), best), np.int64), np.zeros((len(queries), best))
    reached = np.zeros(len(scores) if postings.plus else 0, np.int32)
    _search(*postings, cuts, starts, ends, idf, scores, reached, sign, ranks, found)
    order = np.lexsort((ranks, -found))
    return sign * np.take_along_axis(ranks, order, 1), np.take_along_axis(found, order, 1)


@_compiled
def _search(
    documents: Any, weights: Any, plus: bool, delta: float, cuts: Any, starts: Any, ends: Any, idf: Any, scores: Any,
    reached: Any, sign: int, ranks: Any, found: Any,
) -> None:  # fmt: skip
    for query in range(len(cuts) - 1):
        first, last = cuts[query], cuts[query + 1]
        if plus:
            _add_to_all(
                documents, weights, delta, starts[first:last], ends[first:last], idf[first:last], scores, reached
            )
            _finish(documents, delta, starts[first:last], ends[first:last], idf[first:last], scores, reached)
        else:
            _add(documents, weights, starts[first:last], ends[first:last], scores)
        _take_best(documents, starts[first:last], ends[first:last], scores, sign, ranks[query], found[query])


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
    """Put the best texts into a heap, worst on top, and set all scores back to zero."""
    size = 0
    for term in range(len(starts)):
        for at in range(starts[term], ends[term]):
            text = documents[at]
            score = scores[text]
            scores[text] = 0.0
            if score > 0.0 and (size < len(found) or score >= found[0]):
                size = _put(ranks, found, size, sign * np.int64(text), score)


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
