"""The retriever kinds `bm25` and `rank_bm25`: passages that share rare words with the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Slot
from benchbuilder.core import Fold
from benchbuilder.retrieval.base import Retriever
from benchbuilder.retrieval.retrievers.array_cache import arrays_are_whole, cached_arrays, texts_checksum
from benchbuilder.retrieval.retrievers.bm25_build import Bm25Formula, build_index, weigh_postings
from benchbuilder.retrieval.retrievers.bm25_index import Bm25Index
from benchbuilder.retrieval.retrievers.token_slices import IndexTerms


class Bm25Spec(KindSpec):
    """Which formula, how many passages, which words count.

    `k1` bounds how much a repeated word adds, `b` how much length counts. `epsilon` (okapi) is the
    proportion of the average weight for words in more than half of the texts. `delta` (l, plus) is the least that a
    word adds.
    """

    variant: Literal["okapi", "l", "plus"]
    k1: Annotated[float, Field(ge=0)]
    b: Annotated[float, Field(ge=0, le=1)]
    epsilon: Annotated[float, Field(ge=0)]
    delta: Annotated[float, Field(ge=0)]
    top_k: Annotated[int, Field(ge=1)]
    ties: Literal["first", "last"] = "first"
    """Which of two passages with equal scores ranks higher, by their order in the knowledge base."""
    stop_words: FileRef | None
    fold: tuple[Fold, ...] = ()
    """What is ignored when words are compared: ``case``, ``marks`` (tone marks and accents; also vowels in scripts that
    write them as marks)."""
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class _WordRetriever(Retriever):
    """A retriever that compares words."""

    spec_class: ClassVar[type[KindSpec]] = Bm25Spec
    spec: Bm25Spec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._words = IndexTerms(spec.kind, spec.tokenizer, spec.stop_words, spec.fold)

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the tokenizer."""
        return self._words.fingerprint()


class Bm25Retriever(_WordRetriever):
    """BM25 with the exact scores of the package `rank_bm25`, from an inverted index of weights.

    Passages without a token of the query, or with a score of zero or less, are left out. The index is cached under a
    checksum of texts, tokenizer, stop words and folding, with the weights of each formula beside it. Both are
    memory-mapped, and rebuilt if missing, damaged or outdated.
    """

    kind: ClassVar[str] = "bm25"

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._index: Bm25Index | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}

    def build(self, texts: Sequence[str], cache: Path, workers: int = 1) -> tuple[Path, ...]:
        """Build the index and its weights in `cache` with up to `workers` processes, unless they exist."""
        return self._make(texts, cache, workers)

    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Open the index of `texts` from `cache`, or build it there."""
        self._make(texts, cache, 1)

    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; only scores above zero."""
        return self.search_many([query])[0]

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Like `search`, with all queries passed to the index together."""
        if self._index is None:
            return [[] for _ in queries]
        return self._index.best(self._words.columns(queries), self.spec.top_k, self.spec.ties == "last")

    def is_indexed(self, texts: Sequence[str], cache: Path) -> bool:
        """Whether the index and the weights of this formula are whole."""
        mark = texts_checksum(texts, self._words.checksum())
        return all(arrays_are_whole(cache / f"bm25-{own}") for own in (mark, f"{mark}-{self._formula().checksum()}"))

    def word_weights(self, query: str, position: int) -> Mapping[str, float]:
        """The terms of the formula's sum, word by word; a word that is there twice counts twice."""
        if self._index is None:
            return {}
        weights: dict[str, float] = {}
        for token in self._words.tokens(query):
            if added := self._index.added_by(token, position):
                weights[token] = weights.get(token, 0.0) + added
        return weights

    def shares_word(self, query: str) -> bool:
        """Whether any text has a word of `query`."""
        return self._index is not None and any(self._index.has(token) for token in self._words.tokens(query))

    def _formula(self) -> Bm25Formula:
        spec = self.spec
        return Bm25Formula(spec.variant, spec.k1, spec.b, spec.epsilon, spec.delta)

    def _make(self, texts: Sequence[str], cache: Path, workers: int) -> tuple[Path, Path]:
        words, formula = self._words, self._formula()
        mark = texts_checksum(texts, words.checksum())
        folder = cache / f"bm25-{mark}"
        index = cached_arrays(folder, mark, lambda draft: build_index(draft, texts, words, workers))
        own = f"{mark}-{formula.checksum()}"
        weights = cache / f"bm25-{own}"
        self._index = Bm25Index(
            index, cached_arrays(weights, own, lambda draft: weigh_postings(draft, folder, index, formula)), formula
        )
        return folder, weights


class RankBm25Retriever(_WordRetriever):
    """BM25 by the package `rank_bm25`: slow, with all texts in memory; `bm25` returns the same results and scores.

    Passages without a token of the query, or with a score of zero or less, are left out.
    """

    kind: ClassVar[str] = "rank_bm25"

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._model: Any = None
        self._postings: dict[str, list[int]] = {}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of rank-bm25 and of the tokenizer."""
        return {"rank-bm25": version("rank-bm25"), **super().fingerprint()}

    def index(self, texts: Sequence[str], cache: Path) -> None:  # noqa: ARG002
        """Cut `texts` into tokens and count them; `cache` is not used."""
        documents = [self._words.tokens(text) for text in texts]
        self._postings = {}
        for position, document in enumerate(documents):
            for token in dict.fromkeys(document):
                self._postings.setdefault(token, []).append(position)
        self._model = self._score_model(documents) if self._postings else None

    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; only scores above zero."""
        tokens = self._words.tokens(query)
        found = sorted({position for token in tokens for position in self._postings.get(token, ())})
        if not found:
            return []
        scores: list[float] = self._model.get_batch_scores(tokens, found)
        later = -1 if self.spec.ties == "last" else 1
        ranked = sorted(zip(found, scores, strict=True), key=lambda hit: (-hit[1], later * hit[0]))
        return [(position, float(score)) for position, score in ranked[: self.spec.top_k] if score > 0]

    def shares_word(self, query: str) -> bool:
        """Whether any text has a word of `query`."""
        return any(token in self._postings for token in self._words.tokens(query))

    def _score_model(self, documents: list[list[str]]) -> Any:
        import rank_bm25  # needed for indexing only, not for a plan

        spec, formulas = self.spec, cast(Any, rank_bm25)
        if spec.variant == "okapi":
            model: Any = formulas.BM25Okapi(documents, k1=spec.k1, b=spec.b, epsilon=spec.epsilon)
        elif spec.variant == "l":
            model = formulas.BM25L(documents, k1=spec.k1, b=spec.b, delta=spec.delta)
        else:
            model = formulas.BM25Plus(documents, k1=spec.k1, b=spec.b, delta=spec.delta)
        model.doc_len = np.asarray(model.doc_len)  # otherwise scoring a few documents would convert all lengths
        return model
