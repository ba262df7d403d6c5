"""The retriever kind `bm25`: passages that share rare words with the query."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from benchbuilder import kinds
from benchbuilder.errors import DataError
from benchbuilder.ports.retriever import Retriever
from benchbuilder.ports.tokenizer import Tokenizer
from benchbuilder.spec.base import FileRef, KindSpec, Slot
from benchbuilder.text.normalise import Fold, compose, folded
from benchbuilder.text.wordlist import load_words


class Bm25Spec(KindSpec):
    """Which formula, how many passages, which words count.

    `k1` bounds how much a repeated word adds, `b` how much length counts. `epsilon` (okapi) is the share of the
    average weight that words of more than half of the texts get. `delta` (l, plus) is the least that a word adds.
    """

    variant: Literal["okapi", "l", "plus"]
    k1: Annotated[float, Field(ge=0)]
    b: Annotated[float, Field(ge=0, le=1)]
    epsilon: Annotated[float, Field(ge=0)]
    delta: Annotated[float, Field(ge=0)]
    top_k: Annotated[int, Field(ge=1)]
    ties: Literal["first", "last"] = "first"
    """Which of two passages with equal scores is the better one, by their order in the knowledge base."""
    stop_words: FileRef | None
    fold: tuple[Fold, ...] = ()
    """What does not count when words are compared: ``case``, ``marks`` (tone marks and accents; in scripts whose vowels
    are marks these too)."""
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Bm25(Retriever):
    """BM25 as `rank_bm25` computes it, over the passages that share a token with the query.

    Passages without such a token, and scores of zero or less, are no evidence. The tokenised texts are kept in the
    cache under a fingerprint of texts, tokenizer and stop words; the formula's settings are not part of it. A cache
    that is missing, damaged or of other texts is made anew.
    """

    kind: ClassVar[str] = "bm25"
    spec_class: ClassVar[type[KindSpec]] = Bm25Spec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: Bm25Spec = spec
        stop_words = load_words(spec.stop_words.file) if spec.stop_words is not None else ()
        self._stop = frozenset(folded(word, self.spec.fold) for word in stop_words)
        if spec.tokenizer is None:
            raise DataError("bm25 has no tokenizer", where="retriever.tokenizer", next="set tokenizer in the recipe")
        self._tokenizer: Tokenizer = kinds.create("tokenizer", spec.tokenizer)
        self._opened = False
        self._model: Any = None
        self._postings: dict[str, list[int]] = {}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of rank-bm25 and of the tokenizer."""
        return {"rank-bm25": version("rank-bm25"), **self._tokenizer.fingerprint()}

    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Index `texts`, with their tokens from `cache` if it has them."""
        mark = self._mark(texts)
        path = cache / f"bm25-{mark}.parquet"
        documents = _load(path, mark, len(texts))
        if documents is None:
            documents = [self._tokens(text) for text in texts]
            _save(path, mark, documents)
        self._postings = {}
        for position, document in enumerate(documents):
            for token in dict.fromkeys(document):
                self._postings.setdefault(token, []).append(position)
        self._model = self._score_model(documents) if self._postings else None

    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and scores of the best texts, best first; only scores above zero."""
        tokens = self._tokens(query)
        found = sorted({position for token in tokens for position in self._postings.get(token, ())})
        if not found:
            return []
        scores: list[float] = self._model.get_batch_scores(tokens, found)
        later = -1 if self.spec.ties == "last" else 1
        ranked = sorted(zip(found, scores, strict=True), key=lambda hit: (-hit[1], later * hit[0]))
        return [(position, float(score)) for position, score in ranked[: self.spec.top_k] if score > 0]

    def _score_model(self, documents: list[list[str]]) -> Any:
        import numpy as np

        spec, formulas = self.spec, _formulas()
        if spec.variant == "okapi":
            model = formulas.BM25Okapi(documents, k1=spec.k1, b=spec.b, epsilon=spec.epsilon)
        elif spec.variant == "l":
            model = formulas.BM25L(documents, k1=spec.k1, b=spec.b, delta=spec.delta)
        else:
            model = formulas.BM25Plus(documents, k1=spec.k1, b=spec.b, delta=spec.delta)
        model.doc_len = np.asarray(model.doc_len)  # so that scoring a few documents does not convert all lengths
        return model

    def _tokens(self, text: str) -> list[str]:
        if not self._opened:
            self._tokenizer.open()
            self._opened = True
        tokens = [token for token in self._tokenizer.tokens(compose(text)) if token.strip()]
        if self.spec.fold:
            tokens = [folded(token, self.spec.fold) for token in tokens]
        return [token for token in tokens if token not in self._stop]

    def _mark(self, texts: Sequence[str]) -> str:
        """Fingerprint of what the tokens depend on."""
        tokenizer = self._tokenizer
        asked: list[Any] = [tokenizer.spec.model_dump(mode="json"), dict(tokenizer.fingerprint()), sorted(self._stop)]
        asked += [sorted(self.spec.fold)] if self.spec.fold else []
        digest = hashlib.blake2b(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode(), digest_size=16)
        for text in texts:
            data = text.encode()
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
        return digest.hexdigest()


def _formulas() -> Any:
    """The package `rank_bm25`, imported when an index is made and not when a plan is."""
    import rank_bm25

    return rank_bm25


def _load(path: Path, mark: str, count: int) -> list[list[str]] | None:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid):
        return None
    if (table.schema.metadata or {}).get(b"mark") != mark.encode() or table.num_rows != count:
        return None
    tokens: Any = table.column("tokens").to_pylist()
    return tokens


def _save(path: Path, mark: str, documents: list[list[str]]) -> None:
    schema = pa.schema([pa.field("tokens", pa.list_(pa.string()), nullable=False)], metadata={b"mark": mark.encode()})
    table = pa.table([pa.array(documents, pa.list_(pa.string()))], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    pq.write_table(table, draft)
    draft.replace(path)
