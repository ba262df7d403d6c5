"""Searches the inverted index of BM25: exact scores, sorting only candidates for the best results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchbuilder.retrieval.base import TokenColumns
from benchbuilder.retrieval.retrievers.array_cache import Array
from benchbuilder.retrieval.retrievers.bm25_build import Bm25Formula, IndexedTerm, term_hash

if TYPE_CHECKING:
    from benchbuilder.retrieval.retrievers.bm25_loops import Postings

_GROUP = 64
"""Size of the groups of texts of which only the best is considered first."""
_SPARSE = 64
"""If there are fewer postings than texts divided by this, only the found texts get scores."""
_AT_ONCE = 1 << 22
"""Postings that are summed at a time: a long query may repeat words that every text contains."""
_REMEMBERED = 1 << 17
"""Size of the cache of terms."""
_COMPILED_FROM = 1 << 30
"""Texts and postings that queries have looked at before the rest is left to compiled loops. NumPy needs about a second
for so many, and so do importing numba and compiling. So short work never waits for a compiler."""
_ROUNDING = 4 * float(np.finfo(np.float64).eps)


class Bm25Index:
    """The postings and weights of one knowledge base, memory-mapped. Serves one thread."""

    def __init__(self, index: dict[str, Array], weighed: dict[str, Array], formula: Bm25Formula) -> None:
        self._count = len(index["lengths"])
        self._starts, self._documents = index["starts"], index["documents"]
        self._terms, self._term_starts = index["terms"], index["term_starts"]
        self._hashes, self._hashed = index["hashes"], index["hashed"]
        self._weights, self._idf, self._best = weighed["weights"], weighed["idf"], weighed["best"]
        self._plus, self._delta = formula.variant == "plus", formula.delta
        self._known: dict[str, IndexedTerm | None] = {}
        self._looked_at = 0
        # buffers reused by every query: allocation would take longer than the sums
        self._held, self._added, self._scores = np.empty(0, np.intp), np.empty(0), np.empty(0)

    def best(self, queries: TokenColumns, count: int, prefer_later: bool) -> list[list[tuple[int, float]]]:
        """Positions and scores of the best texts for each query, best first; ties go to the earlier (or later) text.

        Only texts that contain one of the tokens and score above zero are returned. Compiled loops search once there
        has been enough to search that they are worth their start.
        """
        known = [self._term(token) for token in queries.terms]
        sizes = np.array([0 if term is None else term.end - term.start for term in known], np.int64)
        self._looked_at += int(sizes[queries.tokens].sum()) + len(queries.lengths) * self._count
        if self._looked_at >= _COMPILED_FROM and (postings := self._compiled()) is not None:
            return self._best_by_loops(postings, queries, known, count, prefer_later)
        terms, ends = [known[number] for number in queries.tokens.tolist()], np.cumsum(queries.lengths).tolist()
        asked = (
            [term for term in terms[start:end] if term is not None]
            for start, end in zip([0, *ends], ends, strict=False)
        )
        return [self._best_by_numpy(own, count, prefer_later) for own in asked]

    def has(self, token: str) -> bool:
        """Whether any text has a token."""
        return self._term(token) is not None

    def added_by(self, token: str, position: int) -> float:
        """What a token adds to the score of the text at a position, each time that a query has it."""
        term = self._term(token)
        if term is None:
            return 0.0
        own = self._documents[term.start : term.end]
        at = int(own.searchsorted(position))
        has_it = at < len(own) and int(own[at]) == position
        weight = float(self._weights[term.start + at]) if has_it else 0.0
        return term.idf * (self._delta + weight) if self._plus else weight

    def _best_by_numpy(self, terms: Sequence[IndexedTerm], count: int, prefer_later: bool) -> list[tuple[int, float]]:
        if not terms:
            return []
        places, scores = self._candidates(terms, count)
        if len(places) > count:
            near = scores >= np.partition(scores, len(scores) - count)[len(scores) - count]
            places, scores = places[near], scores[near]
        order = np.lexsort((-places if prefer_later else places, -scores))[:count]
        return [(int(places[at]), float(scores[at])) for at in order if scores[at] > 0]

    def _compiled(self) -> Postings | None:
        """The postings for compiled loops; ``None`` without numba."""
        from benchbuilder.retrieval.retrievers import bm25_loops  # imports numba

        if not bm25_loops.COMPILED:
            return None
        documents = np.asarray(self._documents).view("<u4")
        return bm25_loops.Postings(documents, np.asarray(self._weights), self._plus, self._delta)

    def _best_by_loops(
        self, postings: Postings, queries: TokenColumns, known: Sequence[IndexedTerm | None], count: int, later: bool
    ) -> list[list[tuple[int, float]]]:
        from benchbuilder.retrieval.retrievers.bm25_loops import Asked, search_queries

        asked = Asked.of(queries, known)
        count = min(count, self._count)
        step, found = max(1, _AT_ONCE // max(1, count)), list[list[tuple[int, float]]]()
        for first in range(0, len(queries.lengths), step):
            some = asked.some(first, first + step)
            places, scores = search_queries(postings, some, self._zeros(), count, -1 if later else 1)
            sizes = np.count_nonzero(scores, axis=1).tolist()
            hits = zip(sizes, places.tolist(), scores.tolist(), strict=True)
            found += [list(zip(own[:size], values[:size], strict=True)) for size, own, values in hits]
        return found

    def _candidates(self, terms: Sequence[IndexedTerm], count: int) -> tuple[Array, Array]:
        """The texts that may be among the best, and their scores.

        If each term adds to all texts, candidates are found without that part and then scored exactly. Sums in another
        order differ by rounding, so a margin includes texts that only seem worse.
        """
        places, scores = self._total_scores(terms)
        margin = 0.0
        if self._plus:
            most = sum(term.idf * (self._delta + term.best) for term in terms)
            margin = (len(terms) + 8) * _ROUNDING * most
        bound = _bound(scores, count) - margin
        near = np.flatnonzero(scores >= bound) if bound > 0 else np.flatnonzero(scores > 0)
        found = near if places is None else places[near]
        return found, self._scored(terms, found) if self._plus else scores[near]

    def _total_scores(self, terms: Sequence[IndexedTerm]) -> tuple[Array | None, Array]:
        """Sum the weights per text in the order of `terms`, for all texts or for some (with their positions)."""
        if sum(term.end - term.start for term in terms) * _SPARSE < self._count:
            documents, weights = self._postings(terms)
            places, back = np.unique(documents, return_inverse=True)
            return places, np.bincount(back.reshape(-1), weights)
        scores = self._zeros()
        for some in _runs(terms):
            np.add.at(scores, *self._postings(some))  # sequentially, in the order of the query
        return None, scores

    def _zeros(self) -> Array:
        """The buffer of scores, one zero per text."""
        if len(self._scores) != self._count:
            self._scores = np.zeros(self._count)
        self._scores.fill(0.0)
        return self._scores

    def _postings(self, terms: Sequence[IndexedTerm]) -> tuple[Array, Array]:
        """The texts of each term, term by term, and their weights."""
        size = sum(term.end - term.start for term in terms)
        if size > len(self._held):
            self._held, self._added = np.empty(2 * size, np.intp), np.empty(2 * size)
        documents, weights = self._held[:size], self._added[:size]
        np.concatenate([self._documents[term.start : term.end] for term in terms], out=documents)
        np.concatenate([self._weights[term.start : term.end] for term in terms], out=weights)
        if self._plus:
            weights *= np.repeat([term.idf for term in terms], [term.end - term.start for term in terms])
        return documents, weights

    def _scored(self, terms: Sequence[IndexedTerm], places: Array) -> Array:
        """The scores of the texts at `places` if each term adds to all texts, summed in the order of the query."""
        step = max(1, _AT_ONCE // len(terms))
        some = [self._scored_once(terms, places[at : at + step]) for at in range(0, len(places), step)]
        return np.concatenate([np.zeros(0), *some])

    def _scored_once(self, terms: Sequence[IndexedTerm], places: Array) -> Array:
        starts = np.array([[term.start] for term in terms])
        ends = np.array([[term.end] for term in terms])
        at = np.array([self._documents[term.start : term.end].searchsorted(places) for term in terms]) + starts
        at[at == ends] = 0
        weights = np.where((self._documents[at] == places) & (at >= starts), self._weights[at], 0.0)
        added = np.array([[term.idf] for term in terms]) * (self._delta + weights)
        return np.add.accumulate(added, axis=0)[-1]

    def _term(self, token: str) -> IndexedTerm | None:
        """A term of the index; ``None`` if no text contains it."""
        if token in self._known:
            return self._known[token]
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        found = self._known[token] = self._find_term(token.encode())
        return found

    def _find_term(self, term: bytes) -> IndexedTerm | None:
        wanted = np.uint64(term_hash(term))
        for at in range(int(np.searchsorted(self._hashes, wanted)), len(self._hashes)):
            if self._hashes[at] != wanted:
                break
            number = int(self._hashed[at])
            if self._terms[self._term_starts[number] : self._term_starts[number + 1]].tobytes() == term:
                start, end = self._starts[number : number + 2].tolist()
                return IndexedTerm(start, end, float(self._idf[number]), float(self._best[number]))
        return None


def _runs(terms: Sequence[IndexedTerm]) -> Iterator[list[IndexedTerm]]:
    """Groups of `terms` with a bounded number of postings; long terms are split."""
    held, size = list[IndexedTerm](), 0
    for term in terms:
        for start in range(term.start, term.end, _AT_ONCE):
            piece = term._replace(start=start, end=min(term.end, start + _AT_ONCE))
            if held and size + piece.end - piece.start > _AT_ONCE:
                yield held
                held, size = [], 0
            held.append(piece)
            size += piece.end - piece.start
    if held:
        yield held


def _bound(scores: Array, count: int) -> float:
    """A lower bound of the `count`-th best score, from the best scores of groups of texts."""
    groups = len(scores) // _GROUP
    if groups < count:
        return 0.0
    best = scores[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    return float(np.partition(best, groups - count)[groups - count])
