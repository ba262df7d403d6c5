"""SHA-256 digests of model files; each file is read once per process."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from benchbuilder.core import DataError, open_given_file

PARTS = (".json", ".safetensors", ".model", ".txt", ".jinja", ".tiktoken")
"""Suffixes of the files that shape replies: configuration, tokenizer, chat template, weights."""


def file_sha256(path: Path) -> str:
    """Hex digest of a file; DataError if it cannot be read."""
    try:
        stat = path.stat()
        return _sha256(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    except OSError as error:
        why = error.strerror or str(error)
        raise DataError(f"cannot read {path}", why=why, next="check the path in the recipe") from error


def weights_sha256(folder: Path, *, code: bool = False) -> str:
    """Hex digest of the names and contents of the model files in `folder`; DataError if it cannot be read.

    `code`: of what it brings as Python too.
    """
    suffixes = (*PARTS, ".py") if code else PARTS
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in suffixes and path.is_file())
    except OSError as error:
        next = "set model.path to a folder with config.json, tokenizer and weights (*.safetensors)"
        raise DataError(
            f"cannot read the model folder {folder}", why=error.strerror or str(error), next=next
        ) from error
    parts = [(path.name, file_sha256(path)) for path in files]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


@lru_cache(maxsize=4096)
def _sha256(path: Path, size: int, changed_ns: int, inode: int) -> str:  # noqa: ARG001
    """The digest of a file; size, time and inode identify its state for the cache."""
    with open_given_file(path, most_bytes=None) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
