"""The contract of retrievers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbuilder.retrieval import Retriever
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process

RankedPositions = list[list[tuple[int, float]]]


def check_retriever(make: Callable[[], Retriever], texts: Sequence[str], queries: Sequence[str]) -> RankedPositions:
    """Check a retriever: it ranks positions of texts, best first, with scores above 0.

    A loaded index must give the same results as a new one, and many queries together the same as one by one.

    Args:
        make: Makes a new retriever.
        texts: Texts to index.
        queries: Example queries.

    Returns:
        The position and score of each match, for each query.

    Raises:
        ContractError: The retriever breaks a promise.
    """
    retriever = make()
    who = f"the retriever {retriever.kind!r}"
    with tempfile.TemporaryDirectory() as folder:
        results = _search(retriever, texts, queries, Path(folder))
        for query, matches in zip(queries, results, strict=True):
            positions, scores = [position for position, _ in matches], [score for _, score in matches]
            require(len(set(positions)) == len(positions), f"{who} finds a text twice for {query!r}")
            require(
                all(0 <= position < len(texts) for position in positions), f"{who} returns a position that no text has"
            )
            require(all(score > 0 for score in scores), f"{who} finds texts with score zero for {query!r}")
            require(scores == sorted(scores, reverse=True), f"{who} does not rank the best text first for {query!r}")
        require(any(results), f"{who} finds nothing for any query")
        require(retriever.search_many(queries) == results, f"{who} finds other texts for many queries together")
        require(retriever.search_many([]) == [], f"{who} finds texts for an empty list of queries")
        require(
            _search(make(), texts, queries, Path(folder)) == results, f"{who} finds other texts with a loaded index"
        )
    with tempfile.TemporaryDirectory() as folder:
        require(
            _search(make(), texts, queries[::-1], Path(folder)) == results[::-1], f"{who} depends on earlier queries"
        )
        require(not any(_search(make(), [], queries, Path(folder))), f"{who} finds texts in an empty index")
        require(not any(_search(make(), texts, [""], Path(folder))), f"{who} finds texts for an empty query")
    with tempfile.TemporaryDirectory() as folder:
        _check_prebuilt_index(make, texts, Path(folder), who)
        elsewhere = in_worker_process(_search, make(), texts, queries, Path(folder))
        require(elsewhere == results, f"{who} finds other texts in another process")
    return results


def _check_prebuilt_index(make: Callable[[], Retriever], texts: Sequence[str], cache: Path, who: str) -> None:
    """Check that the files of a built index are in the cache, and that the retriever loads them."""
    built = make().build(texts, cache, workers=2)
    require(all(path.exists() for path in built), f"{who} names files that do not exist")
    require(all(path.parent == cache for path in built), f"{who} writes outside its cache")
    if built:
        before = _files(cache)
        make().index(texts, cache)
        require(_files(cache) == before, f"{who} builds its index again instead of loading it")


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix != ".lock"}


def _search(retriever: Retriever, texts: Sequence[str], queries: Sequence[str], cache: Path) -> RankedPositions:
    retriever.index(texts, cache)
    return [retriever.search(query) for query in queries]
