"""Sentence encoders: turn texts into vectors of length one, with a model that is loaded on first use."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import DataError, imports_of
from benchbuilder.models import file_sha256
from benchbuilder.retrieval.retrievers.array_cache import Array
from benchbuilder.retrieval.tokenizers.huggingface import library_version

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
