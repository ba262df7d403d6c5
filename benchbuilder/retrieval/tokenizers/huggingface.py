"""The tokenizer kind `huggingface`: the pieces of the tokenizer of a language model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import DataError, imports_of, read_given_file
from benchbuilder.retrieval.base import Tokenizer

HUB_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$"
_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.spm", "*.bpe")
_NEXT = "name a folder with tokenizer.json (or the files it is made of) as tokenizer.path, or a model of the hub"


def check_model_source(name: str | None, revision: str | None, path: FileRef | None) -> None:
    """ValueError unless a model is either on the hub or in a folder, which has no revision."""
    if (name is None) == (path is None):
        raise ValueError("set one of `name` (ORGANISATION/MODEL on the hub) and `path` (a folder)")
    if path is not None and revision is not None:
        raise ValueError("`revision` belongs to `name`; a folder has no revision")


class HuggingfaceSpec(KindSpec):
    """Which tokenizer: a folder (`path`) or a model on the hub (`name`, at `revision`); its code is never run."""

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``); its tokenizer is downloaded on first use. Or `path`."""
    revision: str | None = None
    """A commit of the model on the hub. Without one it is whatever the hub has, or the cache: not reproducible."""
    path: FileRef | None = None
    """A folder with the files of a tokenizer. Or `name`."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        check_model_source(self.name, self.revision, self.path)
        return self

    @property
    def looks_elsewhere(self) -> bool:
        """What is named on the hub is read from the cache of its library."""
        return self.name is not None


class HuggingfaceTokenizer(Tokenizer):
    """Word pieces of any tokenizer that reports the offsets of its pieces.

    A token is the part of the text that a piece covers, without surrounding white space. Several pieces of one
    character (as with byte-level vocabularies) are one token.
    """

    kind: ClassVar[str] = "huggingface"
    spec_class: ClassVar[type[KindSpec]] = HuggingfaceSpec

    spec: HuggingfaceSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._inner: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inner": None}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the libraries, and a checksum of the folder, or name and revision."""
        known = {library: library_version(library) for library in ("tokenizers", "transformers")}
        if self.spec.path is not None:
            return {**known, "files": _checksum(self.spec.path.file)}
        return {**known, "name": self.spec.name or "", "revision": self.spec.revision or ""}

    def open(self) -> None:
        """Load the tokenizer; InstallationError without the extra `hf`, DataError if it cannot be used."""
        if self._inner is None:
            path = self.spec.path
            where = str(path.file) if path is not None else str(self.spec.name)
            self._inner = _load(where, self.spec.revision, path is not None)

    def tokens(self, text: str) -> list[str]:
        """The tokens of `text`, in order; joined, they are the text without its white space."""
        self.open()
        spans = self._inner.encode(text, add_special_tokens=False).offsets
        return [token for start, end in _covering_spans(spans, len(text)) if (token := text[start:end].strip())]


def _covering_spans(spans: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Spans that cover the text once: pieces of one character are joined, gaps become spans."""
    covering: list[tuple[int, int]] = []
    covered = 0
    for start, end in spans:
        if end <= covered:
            continue
        if start < covered and covering:  # pieces that share a character
            covering[-1] = (covering[-1][0], end)
        else:
            covering += [(covered, start)] if start > covered else []
            covering.append((start, end))
        covered = end
    return covering + ([(covered, size)] if covered < size else [])


@cache
def _load(source: str, revision: str | None, local: bool) -> Any:
    """Load the tokenizer of the library `tokenizers`."""
    with imports_of("hf", "the tokenizer kind 'huggingface'"):
        from transformers import AutoTokenizer
    if local and not Path(source).is_dir():
        raise DataError("there is no folder of a tokenizer here", where=source, next=_NEXT)
    loader: Any = AutoTokenizer
    try:
        tokenizer = loader.from_pretrained(source, revision=revision, trust_remote_code=False, local_files_only=local)
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = str(error).strip().partition("\n")[0]
        raise DataError("the tokenizer cannot be loaded", where=source, why=why, next=_NEXT) from error
    if not tokenizer.is_fast:
        raise DataError(
            "the tokenizer does not report the offsets of its pieces",
            where=source,
            next="use a tokenizer with a tokenizer.json",
        )
    return tokenizer.backend_tokenizer


def _checksum(folder: Path) -> str:
    """Checksum of the files of a tokenizer, by name and content; that of nothing if the folder is missing."""
    digest = hashlib.sha256()
    for file in sorted({file for pattern in _FILES for file in folder.glob(pattern) if file.is_file()}):
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(read_given_file(file)).digest())
    return digest.hexdigest()


def library_version(library: str) -> str:
    """The installed version of a library, or ``missing``."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"
