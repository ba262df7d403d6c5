"""Where a clone comes from: a file that travels with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchbuilder.config import RecipeRoot
from benchbuilder.core import DataError

ORIGIN_FILE = "origin.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A copied file: where the original stood, the SHA-256 of its bytes, and that of what was written."""

    origin: str
    sha256: str
    written: str


@dataclass(frozen=True, slots=True)
class OriginRecord:
    """What a clone was made from.

    `files` maps each file of the clone to its original, both as ``recipes/...`` or ``prompts/...``. `lists` are
    those of them that are word lists, `words` what these held; `card` is what its card said.
    """

    recipe: str
    language: str
    produced_by: str
    found_in: str
    licence: str
    files: dict[str, CopiedFile] = field(default_factory=dict[str, CopiedFile])
    lists: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    card: dict[str, Any] = field(default_factory=dict[str, Any])

    def to_json(self) -> str:
        """The record as it is written."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"


def sha256_of(data: bytes) -> str:
    """The SHA-256 of bytes, as text."""
    return hashlib.sha256(data).hexdigest()


def read_origin_record(file: Path) -> OriginRecord:
    """The record in `file`; DataError if it is none."""
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if data.pop("format") != _FORMAT:
            raise ValueError("another version of benchbuilder wrote it")
        files = {name: CopiedFile(**copied) for name, copied in data.pop("files").items()}
        return OriginRecord(files=files, lists=tuple(data.pop("lists")), words=tuple(data.pop("words")), **data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            "the record of where this recipe comes from cannot be read", where=str(file), why=str(error),
            next="restore the file, or delete it: then nothing is looked for that may be left over",
        ) from error  # fmt: skip


def find_origin_record(recipe: str, roots: Sequence[RecipeRoot]) -> tuple[OriginRecord, Path] | None:
    """The record of a recipe, and the folder that its paths hang on; None if the recipe is no clone."""
    for root in roots:
        file = root.path / "recipe" / recipe / ORIGIN_FILE
        if file.is_file():
            return read_origin_record(file), root.path.parent
    return None
