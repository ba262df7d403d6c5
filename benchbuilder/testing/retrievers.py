"""The contract of retrievers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbuilder.retrieval.base import Retriever
from benchbuilder.testing.contract import require
from benchbuilder.testing.processes import in_worker_process

RankedPositions = list[list[tuple[int, float]]]


def check_retriever(make: Callable[[], Retriever], texts: Sequence[str], queries: Sequence[str]) -> RankedPositions:
    """Hits are positions of texts, best first, none with score zero; an index that was built before answers as one that
    is made when it is opened, and many queries together as one by one.

    Returns the hits of each query.
    """
    retriever = make()
    who = f"the retriever {retriever.kind!r}"
    with tempfile.TemporaryDirectory() as folder:
        found = _search(retriever, texts, queries, Path(folder))
        for query, hits in zip(queries, found, strict=True):
            positions, scores = [position for position, _ in hits], [score for _, score in hits]
            require(len(set(positions)) == len(positions), f"{who} finds a text twice for {query!r}")
            require(all(0 <= position < len(texts) for position in positions), f"{who} finds what is not there")
            require(all(score > 0 for score in scores), f"{who} finds texts with score zero for {query!r}")
            require(scores == sorted(scores, reverse=True), f"{who} does not rank the best first for {query!r}")
        require(any(found), f"{who} finds nothing for any query")
        require(retriever.search_many(queries) == found, f"{who} finds other texts for many queries together")
        require(retriever.search_many([]) == [], f"{who} finds something for no queries")
        require(_search(make(), texts, queries, Path(folder)) == found, f"{who} finds other texts with a loaded index")
    with tempfile.TemporaryDirectory() as folder:
        require(_search(make(), texts, queries[::-1], Path(folder)) == found[::-1], f"{who} depends on earlier queries")
        require(not any(_search(make(), [], queries, Path(folder))), f"{who} finds something among no texts")
        require(not any(_search(make(), texts, [""], Path(folder))), f"{who} finds something for no query")
    with tempfile.TemporaryDirectory() as folder:
        _check_prebuilt_index(make, texts, Path(folder), who)
        again = in_worker_process(_search, make(), texts, queries, Path(folder))
        require(again == found, f"{who} finds other texts in another process")
    return found


def _check_prebuilt_index(make: Callable[[], Retriever], texts: Sequence[str], cache: Path, who: str) -> None:
    """What is built beforehand is there, lies in the cache, and is all there is to it."""
    built = make().build(texts, cache, workers=2)
    require(all(path.exists() for path in built), f"{who} names files that it did not build")
    require(all(path.parent == cache for path in built), f"{who} builds outside of its cache")
    if built:
        before = _files(cache)
        make().index(texts, cache)
        require(_files(cache) == before, f"{who} does not open what it built, but builds it again")


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix != ".lock"}


def _search(retriever: Retriever, texts: Sequence[str], queries: Sequence[str], cache: Path) -> RankedPositions:
    retriever.index(texts, cache)
    return [retriever.search(query) for query in queries]
