"""The record of a release, as ``release.json`` holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from benchbuilder.config import display_path
from benchbuilder.core import DataError, FrozenModel, Problem, RecipeError
from benchbuilder.publishing.release.items import RELEASE_FILE

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)\Z")


class SemanticVersion(NamedTuple):
    """A semantic version without additions."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse_version(text: str) -> SemanticVersion:
    """Read a version such as ``1.0.0``; RecipeError if it is none."""
    match = _VERSION.match(text)
    if match is None:
        raise RecipeError([Problem("a version has three numbers", where="command line: version", actual=text or "none",
                                   hint="version=1.0.0")])  # fmt: skip
    return SemanticVersion(*map(int, match.groups()))


class ReleasedConfig(FrozenModel):
    """A configuration: its files and its number of items by split. The labels of a `private` one are held back."""

    name: str
    task: str = ""
    type: str = ""
    private: bool = False
    files: dict[str, str]
    items: dict[str, int]


class SourceRecord(FrozenModel):
    """A source, its licence as the recipe states it, and what that licence allows: yes, no or unknown."""

    name: str
    title: str
    url: str
    citation: str
    licence: str
    licence_id: str
    share: str
    change: str
    commercial: str
    name_source: str
    same_licence: str


class DespiteRecord(FrozenModel):
    """Why the benchmark was released although something speaks against it."""

    reason: str
    refusals: tuple[str, ...]


class ReleaseChanges(FrozenModel):
    """What changed since the release before: items whose labels are public by their ids, private ones by question.

    `corrected` counts public items of which only texts were corrected, not the key; they count nowhere else.
    """

    added: int = 0
    removed: int = 0
    changed: int = 0
    corrected: int = 0
    private_added: int = 0
    private_removed: int = 0
    note: str = ""

    @property
    def of_items(self) -> bool:
        """Whether the items are others than before."""
        return any((self.added, self.removed, self.changed, self.private_added, self.private_removed))


class ReleaseRecord(FrozenModel):
    """A release: what it is, what it holds, and what it was made of.

    `contact` is where to report an error. `despite` is there if it was made against a refusal. `receipts` say what the
    models of the build were asked and what they cost.
    """

    format: int = 1
    canary: str
    name: str
    title: str
    version: str
    date: str
    licence: str
    language: str
    repository: str = ""
    contact: str = ""
    seed: int
    configs: tuple[ReleasedConfig, ...]
    sources: tuple[SourceRecord, ...]
    despite: DespiteRecord | None = None
    previous: str = ""
    changes: ReleaseChanges = ReleaseChanges()
    recipe_sha256: str
    versions: dict[str, str]
    receipts: tuple[dict[str, Any], ...] = ()

    @property
    def private_items(self) -> int:
        """How many items have private labels."""
        return sum(sum(config.items.values()) for config in self.configs if config.private)

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """The number of items by configuration and split."""
        return {config.name: config.items for config in self.configs}


def read_record(folder: Path) -> ReleaseRecord:
    """The record of the release in a folder; DataError if there is none."""
    path = folder / RELEASE_FILE
    try:
        return ReleaseRecord.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        why: str = "the file is missing"
        cause: Exception = error
    except ValidationError as error:
        why, cause = f"{error.error_count()} of its values cannot be read", error
    raise DataError(
        f"{display_path(folder)} holds no release", where=display_path(path), why=why,
        next="name the folder of a release, for instance releases/care_mi/1.0.0",
    ) from cause  # fmt: skip


def all_releases(releases: Path) -> list[Path]:
    """The folders of all versions below `releases`, the first version first."""
    versions = [folder for folder in releases.iterdir() if _VERSION.match(folder.name)] if releases.is_dir() else []
    return sorted(versions, key=lambda folder: parse_version(folder.name))


def latest_release(releases: Path) -> Path | None:
    """The folder of the latest version below `releases`, if there is one."""
    return next(reversed(all_releases(releases)), None)
