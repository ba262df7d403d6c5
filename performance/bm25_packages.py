"""BM25 beside other packages: the same tokens, the same queries, processor time, in turn in one process.

    python performance/bm25_packages.py [--quick] [--paragraphs 100000] [--rounds 7]

Needs `pip install '.[bench]'`, and scipy for its row. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scale import generate, machine, ours, plain

from benchbuilder.retrieval.base import TokenColumns
from benchbuilder.retrieval.retrievers import bm25_index

QUERIES, PLAIN_QUERIES, TOP_K = 2_000, 10, plain.TOP_K
ALWAYS, NEVER = 0, 1 << 62
Found = list[list[tuple[int, float]]]
Way = Callable[[Sequence[list[str]]], Found]


def main() -> int:
    """Measure; 1 if bm25s is faster than the compiled loops or a result differs (never with ``--quick``)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few paragraphs: whether it runs, no more")
    parser.add_argument("--paragraphs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    count, rounds = (1_000, 2) if given.quick else (given.paragraphs, given.rounds)
    with tempfile.TemporaryDirectory() as folder:
        return int(_measure(Path(folder), count, rounds) and not given.quick)


def _measure(folder: Path, count: int, rounds: int) -> bool:
    texts, retriever = ours.Texts.write(folder / "texts.arrow", generate.paragraphs(count)), ours.retriever()
    retriever.build(texts, folder, ours.workers())
    words, index = retriever._words, retriever._index
    documents = ours.tokens_of(words.columns(texts[:]))
    queries = ours.tokens_of(words.columns(generate.queries(QUERIES)))
    columns = _columns(queries)
    ways: dict[str, Way] = {
        "rank_bm25": _rank_bm25(documents),
        "benchbuilder, NumPy": lambda some: _ours(index, some, columns, NEVER),
        "benchbuilder, compiled": lambda some: _ours(index, some, columns, ALWAYS),
        "bm25s, numba": _bm25s(documents, "float32"),
        "bm25s, numba, float64": _bm25s(documents, "float64"),
        "scipy, sparse product": _scipy(index),
    }
    print(f"{count:,} paragraphs, {QUERIES:,} queries; load before: {machine.load()}")
    start = {name: _seconds(way, queries[:2])[0] for name, way in ways.items()}
    took: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, Found] = {}
    for turn in range(rounds):
        for name in list(ways) if turn % 2 else reversed(ways):
            asked = queries[:PLAIN_QUERIES] if name == "rank_bm25" else queries
            seconds, found[name] = _seconds(ways[name], asked)
            took[name].append(seconds / len(asked))
    return _report(start, took, found)


def _report(start: dict[str, float], took: dict[str, list[float]], found: dict[str, Found]) -> bool:
    """Print the table; whether a target is missed."""
    exact = found["benchbuilder, NumPy"]
    head = "first call    ms/query (range)          times rank_bm25 (range)   same paragraphs, scores too"
    print(f"{'way':24}  {head}")
    for name, times in took.items():
        ratios = [a / b for a, b in zip(took["rank_bm25"], times, strict=True)]
        both = list(zip(found[name], exact, strict=False))
        places = sum([at for at, _ in one] == [at for at, _ in other] for one, other in both)
        equal = sum(one == other for one, other in both)
        print(
            f"{name:24} {start[name]:9.2f} s  {statistics.median(times) * 1e3:9.4f} "
            f"({min(times) * 1e3:.4f}-{max(times) * 1e3:.4f})  {statistics.median(ratios):9,.0f} "
            f"({min(ratios):,.0f}-{max(ratios):,.0f})  {places:,}, {equal:,} of {len(both):,}"
        )
    against = [a / b for a, b in zip(took["bm25s, numba"], took["benchbuilder, compiled"], strict=True)]
    middle = statistics.median(against)
    print(f"compiled, times bm25s: {middle:.2f} ({min(against):.2f}-{max(against):.2f}); load after: {machine.load()}")
    same = found["benchbuilder, compiled"] == exact and found["rank_bm25"] == exact[:PLAIN_QUERIES]
    return middle <= 1 or not same


def _seconds(way: Way, queries: Sequence[list[str]]) -> tuple[float, Found]:
    began = time.process_time()
    found = way(queries)
    return time.process_time() - began, found


def _columns(queries: Sequence[list[str]]) -> TokenColumns:
    known: dict[str, int] = {}
    tokens = [known.setdefault(token, len(known)) for query in queries for token in query]
    return TokenColumns(np.array([len(query) for query in queries]), np.array(tokens, np.int64), list(known))


def _ours(index: Any, queries: Sequence[list[str]], columns: TokenColumns, compiled_from: int) -> Found:
    bm25_index._COMPILED_FROM = compiled_from
    return index.best(columns if len(queries) == QUERIES else _columns(queries), TOP_K, prefer_later=False)


def _rank_bm25(documents: list[list[str]]) -> Way:
    model = plain.Bm25(documents)

    def best(queries: Sequence[list[str]]) -> Found:
        every = [model.best(query)[1] for query in queries]
        return [_ranked(scores) for scores in every]

    return best


def _ranked(scores: Any) -> list[tuple[int, float]]:
    """The best by score; of equal ones the first, which the package leaves open."""
    least = np.partition(scores, len(scores) - TOP_K)[len(scores) - TOP_K]
    near = np.flatnonzero(scores >= least)
    order = near[np.lexsort((near, -scores[near]))][:TOP_K]
    return [(int(at), float(scores[at])) for at in order if scores[at] > 0]


def _bm25s(documents: list[list[str]], dtype: str) -> Way:
    import bm25s

    model = bm25s.BM25(method="robertson", k1=1.5, b=0.75, dtype=dtype, backend="numba")
    model.index(documents, show_progress=False)

    def best(queries: Sequence[list[str]]) -> Found:
        places, scores = model.retrieve(
            queries, k=TOP_K, show_progress=False, n_threads=1, backend_selection="numba"
        )  # fmt: skip
        hits = zip(places.tolist(), scores.tolist(), strict=True)
        return [[(at, score) for at, score in zip(*hit, strict=True) if score > 0] for hit in hits]

    return best


def _scipy(index: Any) -> Way:
    from scipy import sparse

    starts = np.asarray(index._starts)
    weights = sparse.csr_matrix(
        (np.asarray(index._weights), np.asarray(index._documents), starts), (len(starts) - 1, index._count)
    )

    def best(queries: Sequence[list[str]]) -> Found:
        found: Found = []
        for query in queries:
            terms = [term for token in query if (term := index._term(token)) is not None]
            rows = np.searchsorted(starts, [term.start for term in terms])
            one = sparse.csr_matrix((np.ones(len(rows)), rows, [0, len(rows)]), (1, len(starts) - 1)) @ weights
            chosen = np.argpartition(-one.data, min(TOP_K, one.nnz - 1))[: 4 * TOP_K]
            order = chosen[np.lexsort((one.indices[chosen], -one.data[chosen]))][:TOP_K]
            found.append([(int(one.indices[at]), float(one.data[at])) for at in order if one.data[at] > 0])
        return found

    return best


if __name__ == "__main__":
    sys.exit(main())
