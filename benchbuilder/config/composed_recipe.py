"""A composed recipe, and its text for a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config.composition_faults import UnresolvedValue
from benchbuilder.config.origins import ValueOrigin, ValueOrigins
from benchbuilder.config.search_path import RecipeRoot
from benchbuilder.config.yaml_source import KeyPath


@dataclass(frozen=True)
class ComposedRecipe:
    """A composed recipe.

    `data` is plain, with interpolations resolved; ``None`` replaces the `unresolved` values. `origins` says where each
    key was written. `idle_sources` names the options of the group `source` that were not chosen. `references` are the
    keys that refer to others, and those that they refer to; None if nobody can tell.
    """

    name: str
    data: dict[str, Any]
    origins: ValueOrigins
    unresolved: tuple[UnresolvedValue, ...]
    roots: tuple[RecipeRoot, ...]
    idle_sources: frozenset[str]
    references: frozenset[KeyPath] | None


def composed_to_json(composed: ComposedRecipe) -> dict[str, Any]:
    """The recipe as plain data for JSON; roots and files are numbered, so that each is written once."""
    files, origins = _Numbers(), composed.origins

    def rows(of: Mapping[KeyPath, ValueOrigin]) -> list[list[Any]]:
        return [[key, *_origin_row(origin, files, composed.roots)] for key, origin in of.items()]

    return {
        "name": composed.name,
        "data": composed.data,
        "unresolved": [[value.key, value.error] for value in composed.unresolved],
        "idle_sources": sorted(composed.idle_sources),
        "references": None if composed.references is None else [list(key) for key in composed.references],
        "entries": rows(origins.entries),
        "idle_nulls": rows(origins.idle_nulls),
        "fallback": _origin_row(origins.fallback, files, composed.roots),
        "above": list(origins.above),
        "links": [[key, *link] for key, link in origins.links.items()],
        "defaulted": list(origins.defaulted),
        "files": list(files.numbers),
    }


def composed_from_json(plain: Mapping[str, Any], roots: Sequence[RecipeRoot]) -> ComposedRecipe:
    """The recipe that was written by `composed_to_json` for the same `roots`."""
    files = [Path(text) for text in plain["files"]]
    origins = ValueOrigins(
        entries={tuple(key): _origin(row, files, roots) for key, *row in plain["entries"]},
        above={tuple(key) for key in plain["above"]},
        links={tuple(key): (tuple(target), rest) for key, target, rest in plain["links"]},
        defaulted={tuple(key) for key in plain["defaulted"]},
        fallback=_origin(plain["fallback"], files, roots),
        idle_nulls={tuple(key): _origin(row, files, roots) for key, *row in plain["idle_nulls"]},
    )
    unresolved = tuple(UnresolvedValue(tuple(key), error) for key, error in plain["unresolved"])
    references = None if plain["references"] is None else frozenset(map(tuple, plain["references"]))
    return ComposedRecipe(
        plain["name"], plain["data"], origins, unresolved, tuple(roots), frozenset(plain["idle_sources"]), references
    )


class _Numbers:
    """Numbers texts in the order in which they come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, path: Path | None) -> int:
        return -1 if path is None else self.numbers.setdefault(str(path), len(self.numbers))


def _origin_row(origin: ValueOrigin, files: _Numbers, roots: Sequence[RecipeRoot]) -> list[Any]:
    flags = origin.is_plain + 2 * origin.trusted + 4 * origin.is_mapping + 8 * origin.moved
    root = -1 if origin.root is None else roots.index(origin.root)
    return [files.of(origin.file), origin.line, origin.override, origin.text, root, flags]


def _origin(row: Sequence[Any], files: Sequence[Path], roots: Sequence[RecipeRoot]) -> ValueOrigin:
    file, line, override, text, root, flags = row
    return ValueOrigin(
        None if file < 0 else files[file], line, override, text, bool(flags & 1), None if root < 0 else roots[root],
        bool(flags & 2), bool(flags & 4), bool(flags & 8),
    )  # fmt: skip
