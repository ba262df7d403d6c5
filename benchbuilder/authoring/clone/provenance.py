"""The names of copied files, and the record of their origin that travels with the copy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from benchbuilder.config import ORIGIN_FILE, RecipeRoot
from benchbuilder.core import DataError, read_json

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class CloneNames:
    """Names for the files of the copy `name`, other than those of the original, so that both can be found.

    `origin` is the copied recipe; it is in `language` and builds on the recipes `bases`. The copy is in `new_language`
    (empty: the same one), whose tag takes the place of the old one.
    """

    name: str
    origin: str
    language: str
    bases: tuple[str, ...] = ()
    new_language: str = ""

    def stem(self, stem: str) -> str:
        """The name of a copied file without its suffix.

        >>> names = CloneNames("law", "care", "zh")
        >>> [names.stem(stem) for stem in ("care", "care_judges", "zh_claims", "files", "zh")]
        ['law', 'law_judges', 'law_claims', 'law_files', 'law_zh']
        >>> names = CloneNames("law", "care", "zh", new_language="yo")
        >>> [names.stem(stem) for stem in ("zh_claims", "zh", "en", "sheets_zh")]
        ['law_claims', 'law_yo', 'law_en', 'law_sheets_yo']
        """
        if stem == self.origin or stem.startswith(f"{self.origin}_"):
            return self.name + stem.removeprefix(self.origin)
        if self.new_language and (stem == self.language or stem.endswith(f"_{self.language}")):
            stem = stem.removesuffix(self.language) + self.new_language
        return f"{self.name}_{stem.removeprefix(f'{self.language}_')}"

    def recipe_file(self, path: PurePosixPath) -> PurePosixPath:
        """The path of a copied file below the folder of recipes: in the folder of the copy, or next to the original.

        >>> names = CloneNames("law", "care", "zh")
        >>> [str(names.recipe_file(PurePosixPath(path))) for path in ("recipe/care/words.txt", "verdicts/en.yaml")]
        ['recipe/law/words.txt', 'verdicts/law_en.yaml']
        """
        *folders, name = path.parts
        for position, folder in enumerate(folders):
            if folder in (self.origin, *self.bases):
                return PurePosixPath(*folders[:position], self.name, *folders[position + 1 :], name)
        first, dot, rest = path.name.partition(".")
        return path.with_name(f"{self.stem(first)}{dot}{rest}")

    def prompt_file(self, path: PurePosixPath) -> PurePosixPath:
        """The path of a copied prompt below the folder of prompts.

        >>> names = CloneNames("law", "care", "zh")
        >>> [str(names.prompt_file(PurePosixPath(path))) for path in ("zh/a.j2", "en/a.j2", "care/x/a.j2")]
        ['law/a.j2', 'law/en/a.j2', 'law/x/a.j2']
        """
        own = path.parts[0] in (self.language, self.origin) and len(path.parts) > 1
        return PurePosixPath(self.name, *(path.parts[1:] if own else path.parts))


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A copied file: the path of the original, the SHA-256 of its bytes, and that of the written copy."""

    origin: str
    sha256: str
    written: str


@dataclass(frozen=True, slots=True)
class OriginRecord:
    """The origin of a copy.

    `files` maps each file of the copy to its original, both as ``recipes/...`` or ``prompts/...``. `lists` are the
    word lists among them, `words` their words, and `card` is the card of the original.
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
        """The text of the file."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, ensure_ascii=False, indent=1) + "\n"


def sha256_of(data: bytes) -> str:
    """The SHA-256 of bytes, as text."""
    return hashlib.sha256(data).hexdigest()


def read_origin_record(file: Path) -> OriginRecord:
    """The record in `file`; DataError if it cannot be read."""
    try:
        data: dict[str, Any] = read_json(file)
        if data.pop("format") != _FORMAT:
            raise ValueError("another version of benchbuilder wrote it")
        files = {name: CopiedFile(**copied) for name, copied in data.pop("files").items()}
        return OriginRecord(files=files, lists=tuple(data.pop("lists")), words=tuple(data.pop("words")), **data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            "the record of the origin of this recipe cannot be read", where=str(file), why=str(error),
            next="restore the file, or delete it: then the check searches for no unadapted text",
        ) from error  # fmt: skip


def find_origin_record(recipe: str, roots: Sequence[RecipeRoot]) -> tuple[OriginRecord, Path] | None:
    """The record of a recipe, and the folder that its paths are relative to; None if the recipe is not a copy."""
    for root in roots:
        file = root.path / "recipe" / recipe / ORIGIN_FILE
        if file.is_file():
            return read_origin_record(file), root.path.parent
    return None
