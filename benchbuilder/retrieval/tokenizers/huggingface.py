"""The tokenizer kind `huggingface`: the pieces that a language model's tokenizer cuts text into."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import DataError, InstallationError
from benchbuilder.retrieval.tokenizers.base import Tokenizer

HUB_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)?$"
_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.spm", "*.bpe")
_NEXT = "name a folder with tokenizer.json (or the files it is made of) as tokenizer.path, or a model of the hub"


class HuggingfaceSpec(KindSpec):
    """Which tokenizer: a folder (`path`) or a model on the hub (`name`, at `revision`); no code of it is ever run."""

    name: Annotated[str | None, Field(pattern=HUB_NAME)] = None
    """A model on the hub (``ORGANISATION/MODEL``); its tokenizer is downloaded when it is first needed. Or `path`."""
    revision: str | None = None
    """A commit of the model on the hub. Without one it is whatever the hub has, or the cache: not reproducible."""
    path: FileRef | None = None
    """A folder with the files of a tokenizer. Or `name`."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError("set one of `name` (ORGANISATION/MODEL on the hub) and `path` (a folder)")
        if self.path is not None and self.revision is not None:
            raise ValueError("`revision` belongs to `name`; a folder is what it is")
        return self


class HuggingfaceTokenizer(Tokenizer):
    """Pieces of words by any tokenizer that says where in a text its pieces stand.

    A token is the part of the text that a piece covers, without white space around it. Where several pieces make up
    one character (as with byte-level vocabularies), they are one token.
    """

    kind: ClassVar[str] = "huggingface"
    spec_class: ClassVar[type[KindSpec]] = HuggingfaceSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: HuggingfaceSpec = spec
        self._inner: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inner": None}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions of the libraries, and of the tokenizer: a checksum of the folder's files, or name and revision."""
        known = {library: _version(library) for library in ("tokenizers", "transformers")}
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
        """The tokens of `text`, in order; together they are the text without its white space."""
        self.open()
        spans = self._inner.encode(text, add_special_tokens=False).offsets
        return [token for start, end in _covering_spans(spans, len(text)) if (token := text[start:end].strip())]


def _covering_spans(spans: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Spans that cover the text once: pieces of one character are joined, what no piece covers stands by itself."""
    found: list[tuple[int, int]] = []
    at = 0
    for start, end in spans:
        if end <= at:
            continue
        if start < at and found:  # pieces that share a character
            found[-1] = (found[-1][0], end)
        else:
            found += [(at, start)] if start > at else []
            found.append((start, end))
        at = end
    return found + ([(at, size)] if at < size else [])


@cache
def _load(source: str, revision: str | None, local: bool) -> Any:
    """The tokenizer itself, of the library `tokenizers`."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise InstallationError(
            "the tokenizer huggingface needs the package transformers",
            why=str(error), next="pip install 'benchbuilder[hf]'",
        ) from error  # fmt: skip
    if local and not Path(source).is_dir():
        raise DataError("there is no folder of a tokenizer here", where=source, next=_NEXT)
    loader: Any = AutoTokenizer
    try:
        made = loader.from_pretrained(source, revision=revision, trust_remote_code=False, local_files_only=local)
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = str(error).strip().partition("\n")[0]
        raise DataError("the tokenizer cannot be loaded", where=source, why=why, next=_NEXT) from error
    if not made.is_fast:
        raise DataError(
            "the tokenizer does not say where in a text its pieces stand", where=source,
            next="use a tokenizer with a tokenizer.json",
        )  # fmt: skip
    return made.backend_tokenizer


def _checksum(folder: Path) -> str:
    """Of the files that make a tokenizer, by name and content; empty if the folder is not there."""
    digest = hashlib.sha256()
    for file in sorted({file for pattern in _FILES for file in folder.glob(pattern) if file.is_file()}):
        digest.update(f"{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"
