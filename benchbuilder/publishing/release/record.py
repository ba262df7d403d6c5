"""The record of a release, as ``release.json`` holds it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from benchbuilder.config import check_content, display_path
from benchbuilder.core import DataError, FrozenModel, Problem, RecipeError, read_given_file

RELEASE_FILE = "release.json"
"""The file that says what a release holds."""
_NUMBERS = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
_VERSION = re.compile(rf"{_NUMBERS}\Z")
Plain = Annotated[str, Field(pattern=r"^[\w-][\w.-]*$")]
"""What may stand in a program, in the name of a file, and in a code span."""
MEMBER = r"[\w-][\w.-]*(/[\w-][\w.-]*)*"
RelativeFile = Annotated[str, Field(pattern=f"^{MEMBER}$")]
"""A file in the folder of the release or below it."""
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""A text without line breaks and control characters."""


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

    name: Plain
    task: Plain | Literal[""] = ""
    type: Plain | Literal[""] = ""
    private: bool = False
    files: dict[Plain, RelativeFile]
    items: dict[Plain, int]


class SourceRecord(FrozenModel):
    """A source, its licence as the recipe states it, and what that licence allows: yes, no or unknown."""

    name: Plain
    title: Line
    url: Line
    citation: str
    licence: Line
    licence_id: Line
    share: Line
    change: Line
    commercial: Line
    name_source: Line
    same_licence: Line


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
    """A release: what it is, what it holds, and what it was made of. Other programs get its values, so each has a form.

    `contact` is where to report an error. `despite` is there if it was made against a refusal. `receipts` say what the
    models of the build were asked and what they cost.
    """

    format: int = 1
    canary: Annotated[str, Field(pattern=r"^[0-9A-Fa-f-]{36}$")]
    name: Plain
    title: Line
    version: Annotated[str, Field(pattern=rf"^{_NUMBERS}$")]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    licence: Line
    language: Plain
    repository: Line = ""
    contact: Line = ""
    seed: int
    configs: tuple[ReleasedConfig, ...]
    sources: tuple[SourceRecord, ...]
    despite: DespiteRecord | None = None
    previous: Line = ""
    changes: ReleaseChanges = ReleaseChanges()
    recipe_sha256: Plain
    versions: dict[Line, Line]
    receipts: tuple[dict[str, Any], ...] = ()

    @property
    def private_items(self) -> int:
        """How many items have private labels."""
        return sum(sum(config.items.values()) for config in self.configs if config.private)

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """The number of items by configuration and split."""
        return {config.name: config.items for config in self.configs}


def read_record(folder: Path) -> ReleaseRecord:
    """The record of the release in a folder; DataError if there is none.

    Whoever reads a release reads its record first: StoreError, if anything in the folder is a link that leads out of
    it, a device or a pipe.
    """
    path = folder / RELEASE_FILE
    check_content(folder)
    try:
        return ReleaseRecord.model_validate_json(read_given_file(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        why: str = "the file is missing"
        cause: Exception = error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
        why, cause = f"{error.error_count()} of its values cannot be read, the first is {what}", error
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
