"""The retriever kind `rank_bm25`: BM25 by the package of that name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from benchbuilder.config import KindSpec
from benchbuilder.retrieval.base import Retriever
from benchbuilder.retrieval.retrievers.bm25 import Bm25Spec
from benchbuilder.retrieval.retrievers.index_terms import IndexTerms


class RankBm25Spec(Bm25Spec):
    """Which formula, how many passages, which words count: as for `bm25`."""


class RankBm25Retriever(Retriever):
    """BM25 by the package `rank_bm25`: slow, with all texts in memory; `bm25` returns the same results and scores.

    Passages without a token of the query, or with a score of zero or less, are left out.
    """

    kind: ClassVar[str] = "rank_bm25"
    spec_class: ClassVar[type[KindSpec]] = RankBm25Spec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: RankBm25Spec = spec
        self._words = IndexTerms(spec.kind, spec.tokenizer, spec.stop_words, spec.fold)
        self._model: Any = None
        self._postings: dict[str, list[int]] = {}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of rank-bm25 and of the tokenizer."""
        return {"rank-bm25": version("rank-bm25"), **self._words.fingerprint()}

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
