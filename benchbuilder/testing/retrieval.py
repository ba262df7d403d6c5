"""The contracts of retrievers and tokenizers."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbuilder.retrieval import Retriever, Tokenizer
from benchbuilder.testing.contract import in_worker_process, require

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
            inside = all(0 <= position < len(texts) for position in positions)
            require(inside, f"{who} returns a position that no text has")
            require(all(score > 0 for score in scores), f"{who} finds texts with score zero for {query!r}")
            require(scores == sorted(scores, reverse=True), f"{who} does not rank the best text first for {query!r}")
        require(any(results), f"{who} finds nothing for any query")
        require(retriever.search_many(queries) == results, f"{who} finds other texts for many queries together")
        require(retriever.search_many([]) == [], f"{who} finds texts for an empty list of queries")
        loaded = _search(make(), texts, queries, Path(folder))
        require(loaded == results, f"{who} finds other texts with a loaded index")
    with tempfile.TemporaryDirectory() as folder:
        reversed_results = _search(make(), texts, queries[::-1], Path(folder))
        require(reversed_results == results[::-1], f"{who} depends on earlier queries")
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


def check_tokenizer(make: Callable[[], Tokenizer], texts: Sequence[str]) -> None:
    """Check a tokenizer: its tokens are the text in order, without its white space, and the same in every process.

    The tokens of a tokenizer that `overlaps` are parts of the text.

    Args:
        make: Makes a new tokenizer.
        texts: Example texts.

    Raises:
        ContractError: The tokenizer breaks a promise.
    """
    tokenizer = make()
    who = f"the tokenizer {tokenizer.kind!r}"
    unopened = pickle.loads(pickle.dumps(tokenizer))
    tokenizer.open()
    tokens_of_texts = [tokenizer.tokens(text) for text in texts]
    for text, tokens in zip(texts, tokens_of_texts, strict=True):
        if tokenizer.overlaps:
            require(all(token in text for token in tokens), f"{who} makes {tokens} of {text!r}")
            require(bool(tokens) or not any(map(str.isalnum, text)), f"{who} makes no token of {text!r}")
        else:
            require("".join("".join(tokens).split()) == "".join(text.split()), f"{who} makes {tokens} of {text!r}")
        require(all(tokens), f"{who} makes an empty token of {text!r}")
    require(not tokenizer.tokens(""), f"{who} makes tokens of an empty text")
    lengths, numbers, terms = make().token_columns(texts)
    counts = list(map(len, tokens_of_texts))
    joined = [token for tokens in tokens_of_texts for token in tokens]
    same = lengths.tolist() == counts and [terms[at] for at in numbers.tolist()] == joined
    require(same, f"{who} cuts many texts together in another way")
    require(terms == list(dict.fromkeys(joined)), f"{who} does not list its terms by first occurrence")
    reversed_tokens = [tokenizer.tokens(text) for text in reversed(texts)]
    require(reversed_tokens == tokens_of_texts[::-1], f"{who} depends on earlier texts")
    elsewhere = in_worker_process(_tokenise_all, unopened, list(texts))
    require(elsewhere == tokens_of_texts, f"{who} makes other tokens in another process")
    require(dict(tokenizer.fingerprint()) == dict(unopened.fingerprint()), f"{who} changes its fingerprint when opened")


def _tokenise_all(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[str]]:
    tokenizer.open()
    return [tokenizer.tokens(text) for text in texts]
