"""The items that an erratum can be about: those of every release, private ones included, and those of the build."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from benchbuilder.config import LoadedRecipe, did_you_mean, display_path
from benchbuilder.core import DataError, Problem, RecipeError, parse_json, read_given_text
from benchbuilder.publishing.release.item_changes import texts_of
from benchbuilder.publishing.release.items import SharedItem, read_build, read_release, shared_item
from benchbuilder.publishing.release.private_folder import PRIVATE_FOLDER
from benchbuilder.publishing.release.record import all_releases, read_record
from benchbuilder.publishing.release.records import plain_name
from benchbuilder.steps import ItemTexts

_LISTED = 5


@dataclass(frozen=True)
class KnownItem:
    """An item: the newest release that holds it (empty: the build), and the name under which a private one is asked.

    `older` are the other releases that hold it.
    """

    id: str
    task: str
    version: str
    family: str
    texts: ItemTexts
    private_name: str = ""
    older: tuple[str, ...] = ()


def releases_of(loaded: LoadedRecipe, cwd: Path) -> Path:
    """The folder with the releases of a recipe."""
    return cwd / loaded.whole.release.dir / loaded.whole.benchmark_name


def known_items(loaded: LoadedRecipe, cwd: Path, release: Path | None = None) -> list[KnownItem]:
    """Every item of the releases, the newest first, and of the build if it is there; each id once.

    With `release`, only those of the release in that folder.

    Raises:
        DataError: There is neither a release nor a build, or a release is damaged.
    """
    folders = [release] if release is not None else list(reversed(all_releases(releases_of(loaded, cwd))))
    items: dict[str, KnownItem] = {}
    for folder in folders:
        version = read_record(folder).version
        public = (("", item) for item in read_release(folder).items)
        for name, item in chain(public, private_items(folder)):
            newer = items.get(item.id)
            items[item.id] = (
                _known(item, version, name) if newer is None else replace(newer, older=(*newer.older, version))
            )
    if release is None:
        with contextlib.suppress(*([DataError] if folders else [])):
            for item in read_build(loaded, cwd).items:
                items.setdefault(item.id, _known(item, ""))
    return list(items.values())


def private_items(release: Path) -> Iterator[tuple[str, SharedItem]]:
    """The private items of a release, each with its published name; none on a machine that has no private folder."""
    folder = release.parent / PRIVATE_FOLDER / release.name
    for config in folder.glob("*.jsonl"):
        task = "" if config.stem == "items" else config.stem
        try:
            records = [parse_json(line) for line in read_given_text(config).split("\n") if line]
            for record in records:
                name = record.pop("name")
                yield name, shared_item({plain_name(key): value for key, value in record.items()}, task, "private")
        except (ValueError, LookupError, TypeError) as error:
            raise DataError(f"{display_path(config)} is damaged", where=display_path(config), why=str(error),
                            next="bring the private folder back from a copy") from error  # fmt: skip


def _known(item: SharedItem, version: str, private_name: str = "") -> KnownItem:
    return KnownItem(item.id, item.task, version, item.family, texts_of(item), private_name)


def find_item(items: Sequence[KnownItem], named: str, version: str = "") -> KnownItem:
    """The item with this id or published name, or the only one whose id begins so.

    The part before the hyphen may be left out. With `version`, only items of that release count.

    Raises:
        RecipeError: No item is called so, or several are.
    """
    pool = [item for item in items if not version or version in (item.version, *item.older)]
    for item in pool:
        if named and named in (item.id, item.private_name):
            return item
    found = [item for item in pool if _begins(item.id, named) or _begins(item.private_name, named)]
    if len(found) == 1:
        return found[0]
    where = f"command line: {named}" if named else "command line"
    if not found:
        of_version = f" of version {version}" if version else ""
        hint = did_you_mean(named, [item.id for item in pool]) or "ids are in the column id of the items"
        raise RecipeError([Problem(f"no item{of_version} is called {named!r}", where=where, hint=hint)])
    listed = ", ".join(item.id for item in found[:_LISTED]) + (", ..." if len(found) > _LISTED else "")
    raise RecipeError(
        [Problem(f"{len(found)} items begin with {named!r}", where=where, allowed=listed, hint="give more of the id")]
    )


def _begins(name: str, start: str) -> bool:
    """Whether an id, or its part behind the hyphen, begins with `start`."""
    return bool(start and name) and (name.startswith(start) or name.partition("-")[2].startswith(start))


def family_of(items: Iterable[KnownItem], item: KnownItem) -> list[KnownItem]:
    """The other items of its family in the same release or build."""
    return [
        other for other in items
        if item.family and other.family == item.family and other.id != item.id
        and (other.task, other.version) == (item.task, item.version)
    ]  # fmt: skip
