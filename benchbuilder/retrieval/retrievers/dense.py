"""The retriever kind `dense`: passages whose vectors are close to the vector of the query."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec, RuntimeOption
from benchbuilder.core import DataError, imports_of
from benchbuilder.models import file_sha256
from benchbuilder.retrieval.base import Retriever
from benchbuilder.retrieval.retrievers.array_cache import Array, Shapes, array_file, cached_arrays, texts_checksum
from benchbuilder.retrieval.tokenizers.huggingface import HUB_NAME, check_model_source, library_version

_TEXTS = 4096
"""Texts that are encoded at a time."""
_QUERIES = 256
_VECTORS = 1 << 14
"""Vectors that are compared with queries at a time."""
_DIGITS = 6
"""Digits of a score; further digits depend on the other texts of the encoded batch."""


class DenseSpec(KindSpec):
    """Which sentence encoder: a folder (`path`), or a model of the hub (`name`, at `revision`); its code is never run.

    If a model was trained with words before queries and passages, set these as prefixes.
    """

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``), downloaded on first use. Or `path`."""
    revision: str | None = None
    """The commit of the model on the hub."""
    path: FileRef | None = None
    """A folder with a model of sentence-transformers, or of transformers (with averaged tokens)."""
    query_prefix: str
    passage_prefix: str
    max_tokens: Annotated[int | None, Field(ge=1)] = None
    """Most tokens of a text; ``null``: the limit of the model."""
    top_k: Annotated[int, Field(ge=1)]
    ties: Literal["first", "last"] = "first"
    """Which of two passages with equal scores ranks higher, by their order in the knowledge base."""
    device: Annotated[str, RuntimeOption()] = "auto"
    """``cuda``, ``cuda:1``, ``cpu``; ``auto`` takes what there is."""
    batch_size: Annotated[int, Field(ge=1), RuntimeOption()] = 32
    """Passages that are encoded together."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        check_model_source(self.name, self.revision, self.path)
        if self.name is not None and self.revision is None:
            raise ValueError("`name` needs a `revision`: the commit of the model on the hub")
        return self

    @property
    def looks_elsewhere(self) -> bool:
        """What is named on the hub is read from the cache of its library."""
        return self.name is not None


class DenseRetriever(Retriever):
    """Sentence vectors: the passages with the highest cosine to the query, found by exact search, if above zero.

    The vectors of the passages are cached under a checksum of texts and model. Each query is encoded alone, so other
    queries cannot affect it.
    """

    kind: ClassVar[str] = "dense"
    spec_class: ClassVar[type[KindSpec]] = DenseSpec

    spec: DenseSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        folder = None if spec.path is None else spec.path.file
        self._encoder = SentenceEncoder(spec.name, spec.revision, folder, spec.max_tokens, spec.device)
        self._vectors: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_vectors": None}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the libraries, and the model (a folder by its contents)."""
        return self._encoder.identity()

    def build(self, texts: Sequence[str], cache: Path, workers: int = 1) -> tuple[Path, ...]:  # noqa: ARG002
        """Encode `texts` into `cache`, unless that is done; in this process, which owns the device."""
        return (self._make(texts, cache),)

    def index(self, texts: Sequence[str], cache: Path) -> None:
        """Open the vectors of `texts` from `cache`, or encode them there."""
        self._make(texts, cache)

    def search(self, query: str) -> list[tuple[int, float]]:
        """Positions and cosines of the best texts, best first; only those above zero."""
        return self.search_many([query])[0]

    def search_many(self, queries: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Like `search`; queries are compared with the texts together."""
        found: list[list[tuple[int, float]]] = [[] for _ in queries]
        if self._vectors is None or not len(self._vectors):
            return found
        wanted = [index for index, query in enumerate(queries) if query.strip()]
        for start in range(0, len(wanted), _QUERIES):
            places = wanted[start : start + _QUERIES]
            vectors = [self._encoder.vectors([queries[at]], self.spec.query_prefix, 1)[0] for at in places]
            for at, hits in zip(places, self._best(self._vectors, np.stack(vectors)), strict=True):
                found[at] = hits
        return found

    def _make(self, texts: Sequence[str], cache: Path) -> Path:
        spec = self.spec
        settings = [self._encoder.identity(), spec.passage_prefix, spec.max_tokens]
        mark = texts_checksum(texts, json.dumps(settings, sort_keys=True))
        folder = cache / f"dense-{mark}"
        self._vectors = cached_arrays(folder, mark, lambda draft: self._write(draft, texts))["vectors"]
        return folder

    def _write(self, folder: Path, texts: Sequence[str]) -> Shapes:
        size = 0
        with array_file(folder, "vectors").open("wb") as stream:
            for start in range(0, len(texts), _TEXTS):
                some = texts[start : start + _TEXTS]
                vectors = self._encoder.vectors(some, self.spec.passage_prefix, self.spec.batch_size)
                stream.write(vectors.data)
                size = vectors.shape[1]
        return {"vectors": ("<f4", [len(texts), size])}

    def _best(self, vectors: Array, queries: Array) -> Iterator[list[tuple[int, float]]]:
        """The best texts of each query: a margin covers rounding, and each candidate is scored exactly."""
        count = self.spec.top_k
        margin = (vectors.shape[1] + 8) * 2.0**-22 + 10.0**-_DIGITS
        least = np.full(len(queries), 0.0, np.float32)
        near: list[list[tuple[Array, Array]]] = [[] for _ in queries]
        for start in range(0, len(vectors), _VECTORS):
            cosines = queries @ vectors[start : start + _VECTORS].T
            if cosines.shape[1] >= count:
                least = np.maximum(least, np.partition(cosines, cosines.shape[1] - count, axis=1)[:, -count])
            for own, line, bound in zip(near, cosines, least - margin, strict=True):
                places = np.flatnonzero(line >= bound)
                if len(places):
                    own.append((start + places, line[places]))
        for own, query, bound in zip(near, queries, least - margin, strict=True):
            places = np.concatenate([found[line >= bound] for found, line in own] or [np.zeros(0, np.int64)])
            yield self._ranked(vectors, query, places)

    def _ranked(self, vectors: Array, query: Array, places: Array) -> list[tuple[int, float]]:
        wide, later = query.astype(np.float64), -1 if self.spec.ties == "last" else 1
        scored = [(int(at), round(math.fsum((vectors[at] * wide).tolist()), _DIGITS)) for at in places]
        ranked = sorted((hit for hit in scored if hit[1] > 0), key=lambda hit: (-hit[1], later * hit[0]))
        return ranked[: self.spec.top_k]


_PARTS = (".json", ".safetensors", ".model", ".txt")
_NEXT = "name a folder with a sentence encoder (config.json, tokenizer, *.safetensors) or a model of the hub"


class SentenceEncoder:
    """A sentence encoder from a folder, or from the hub at a revision."""

    def __init__(
        self, name: str | None, revision: str | None, folder: Path | None, max_tokens: int | None, device: str
    ) -> None:
        self._name, self._revision, self._folder = name, revision, folder
        self._longest, self._device = max_tokens, device
        self._model: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None}

    def identity(self) -> dict[str, str]:
        """The model (a folder by its contents) and the versions of its libraries."""
        libraries = {
            library: library_version(library) for library in ("sentence-transformers", "torch", "transformers")
        }
        if self._folder is not None:
            return {**libraries, "model": model_checksum(self._folder)}
        return {**libraries, "model": f"{self._name}@{self._revision}"}

    def vectors(self, texts: Sequence[str], prefix: str, batch: int) -> Array:
        """Encode texts.

        Returns:
            float32 array of shape (texts, dimensions), rows of length one; zeros for blank texts.
        """
        model = self._loaded()
        size = int(model.get_embedding_dimension())
        made = np.zeros((len(texts), size), "<f4")
        distinct = {text: number for number, text in enumerate(dict.fromkeys(text for text in texts if text.strip()))}
        if distinct:
            found: Any = model.encode(
                list(distinct), prompt=prefix, batch_size=batch, normalize_embeddings=True, convert_to_numpy=True,
                show_progress_bar=False,
            )  # fmt: skip
            places = [at for at, text in enumerate(texts) if text in distinct]
            made[places] = np.asarray(found, np.float32)[[distinct[texts[at]] for at in places]]
        return made

    def _loaded(self) -> Any:
        if self._model is None:
            with imports_of("dense", "the retriever kind 'dense'"):
                import sentence_transformers
            where = str(self._folder or self._name)
            if self._folder is not None and not self._folder.is_dir():
                raise DataError("there is no folder of a sentence encoder here", where=where, next=_NEXT)
            self._model = _load(sentence_transformers, where, self._revision, self._folder is not None, self._device)
            if self._longest is not None:
                self._model.max_seq_length = self._longest
        return self._model


def model_checksum(folder: Path) -> str:
    """Checksum of the files of a model, by name and content; DataError if there are none."""
    files = sorted(file for file in folder.rglob("*") if file.suffix in _PARTS and file.is_file())
    if not files:
        raise DataError("there is no sentence encoder here", where=str(folder), next=_NEXT)
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(folder).as_posix()}\0{file_sha256(file)}\0".encode())
    return digest.hexdigest()


def _load(library: Any, source: str, revision: str | None, local: bool, device: str) -> Any:
    """Load the model from safetensors, without custom code."""
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it comments on folders without modules.json
    try:
        return library.SentenceTransformer(
            source, device=None if device == "auto" else device, revision=revision, trust_remote_code=False,
            local_files_only=local, model_kwargs={"use_safetensors": True},
        )  # fmt: skip
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise DataError("the sentence encoder cannot be loaded", where=source, why=why, next=_NEXT) from error
    finally:
        logger.setLevel(level)
