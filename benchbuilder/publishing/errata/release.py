"""Releases what was decided about errata, as the next semantic version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import Problem, RecipeError
from benchbuilder.publishing.errata.known_items import private_items, releases_of
from benchbuilder.publishing.errata.log_file import log_of, mark_released
from benchbuilder.publishing.release.item_changes import ChangedItems, find_item_changes
from benchbuilder.publishing.release.items import BenchmarkToShare, read_build, released_items
from benchbuilder.publishing.release.make import Release, ReleaseRequest, make_release
from benchbuilder.publishing.release.record import SemanticVersion, latest_release, parse_version
from benchbuilder.steps import Erratum, read_errata

Level = Literal["patch", "minor", "major"]


@dataclass(frozen=True)
class ErrataRelease:
    """A release of decisions: how far the version rose, and the errata that are released with it."""

    release: Release
    level: Level
    errata: tuple[Erratum, ...]


def release_errata(
    loaded: LoadedRecipe, cwd: Path, *, design: bool = False, despite: str = "", note: str = "", on: date | None = None
) -> ErrataRelease:
    """Release the build, which follows the decisions, as the next version after the latest release.

    A changed key, and an item that is new or gone, raise the second number. Corrected texts alone raise the third. The
    audit runs on what is left, as in every release.

    Args:
        loaded: The recipe of the build.
        cwd: The current folder, with releases and builds.
        design: Raise the first number: the benchmark asks something else now.
        despite: Why to release it although something speaks against it.
        note: What changed besides, for the card.
        on: The date of the release; by default today.

    Raises:
        RecipeError: There is no release yet, or nothing changed since the latest one.
        DataError: The build does not follow the decisions yet, or a file is damaged.
        GateClosed: The build may not be released; every reason is listed.
    """
    log, releases = log_of(loaded), releases_of(loaded, cwd)
    mark_released(log, releases)
    errata = read_errata(log)
    before = latest_release(releases)
    if before is None:
        raise RecipeError([Problem("there is no release yet that could be corrected", where=display_path(releases),
                                   hint="benchbuild release recipe=... version=1.0.0")])  # fmt: skip
    level = _level(before, read_build(loaded, cwd), errata, loaded.whole.seed)
    if level is None and not design:
        raise RecipeError([Problem(f"nothing changed since {before.name}", where=display_path(before),
                                   actual=f"{sum(e.state == 'open' for e in errata.values())} open errata",
                                   hint="decide an erratum, build, and release then")])  # fmt: skip
    chosen: Level = "major" if design else level or "minor"
    version = next_version(parse_version(before.name), chosen)
    release = make_release(ReleaseRequest(loaded, str(version), cwd, despite, note, on))
    return ErrataRelease(release, chosen, tuple(mark_released(log, releases)))


def list_errata(loaded: LoadedRecipe, cwd: Path) -> tuple[Erratum, ...]:
    """All errata of a recipe, by the day of the report; DataError if there is no log, or it is damaged."""
    log, releases = log_of(loaded), releases_of(loaded, cwd)
    if any(erratum.state == "decided" for erratum in read_errata(log).values()):
        mark_released(log, releases)
    return tuple(sorted(read_errata(log).values(), key=lambda erratum: (erratum.when, erratum.id)))


def next_version(version: SemanticVersion, level: Level) -> SemanticVersion:
    """The version after `version`.

    >>> str(next_version(SemanticVersion(1, 2, 3), "minor"))
    '1.3.0'
    """
    if level == "major":
        return SemanticVersion(version.major + 1, 0, 0)
    if level == "minor":
        return SemanticVersion(version.major, version.minor + 1, 0)
    return SemanticVersion(version.major, version.minor, version.patch + 1)


def _level(before: Path, built: BenchmarkToShare, errata: Mapping[str, Erratum], seed: int) -> Level | None:
    """How far the version rises; ``None`` if the items are the same."""
    public = released_items(before)
    withheld = {item.id: item for _, item in private_items(before)}
    now = [item for item in built.items if item.id not in withheld]
    changes = find_item_changes(public, now, errata, "next", seed)
    gone = withheld.keys() - {item.id for item in built.items}
    if gone or not _only_texts(changes):
        return "minor"
    return "patch" if changes.rows else None


def _only_texts(changes: ChangedItems) -> bool:
    whole = any(row.field == "item" for row in changes.rows)
    ids = sum(row.field == "id" for row in changes.rows)
    return not whole and ids == len(changes.same_key)
