"""Finds the builds below folders, and reads which steps each has as it is now."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml

from benchbuilder.config import display_path
from benchbuilder.core import DamagedError, DataError, parse_plain_yaml, read_given_text
from benchbuilder.pipeline import Manifest, Store, last_overrides, outputs_match, ports_of_step, recorded_steps

_DEEPEST = 4
"""How many folders below a given one a build is looked for."""
_TRIES, _PAUSE_SECONDS, _SHORT_PAUSE_SECONDS = 6, 0.05, 0.01
_POINTER_ONLY = 2
"""The length of the stamp of a step whose pointer names a folder that is not there."""
T = TypeVar("T")


@dataclass(frozen=True)
class BuildFolder:
    """A build in `folder`, under the `name` that addresses of pages use.

    `overrides` are the words of the recipe that it was opened with, if it was.
    `keeps_indexes` says whether indexes of its ids may be written to the user's cache folder.
    """

    name: str
    folder: Path
    overrides: tuple[str, ...] = ()
    keeps_indexes: bool = True
    _read: dict[str, tuple[tuple[int, ...], Manifest | None]] = field(default_factory=dict, compare=False, repr=False)
    _kept: dict[str, tuple[tuple[Any, ...], Any]] = field(default_factory=dict, compare=False, repr=False)
    """What was made of files, by name, with the stamp that the files had then."""
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def store(self) -> Store:
        """The store of the build."""
        return Store(self.folder)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its recipe: those that it was opened with, else those of its last command; empty if unknown."""
        return self.overrides or tuple(last_overrides(self.store) or ())

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The resolved recipe as plain data; empty if no build wrote it yet, or it is not readable."""
        path = self.folder / "recipe.yaml"
        return self._made_once("recipe", (file_stamp(path),), lambda: _read_recipe(path))

    @property
    def built_at(self) -> datetime | None:
        """When its outputs, or else its last step, were written."""
        for path in (self.folder / "recipe.yaml", self.folder / "store" / "steps"):
            with suppress(OSError):
                return datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return None

    def manifests(self) -> dict[str, Manifest]:
        """The manifests of its steps in the order of the flow.

        Of a finished build, the steps of the last one; else those that were made of each other as they are now.
        """
        found = {name: manifest for name in self._step_names() if (manifest := self._latest(name)) is not None}
        stamps = tuple((name, self._read[name][0]) for name in found)
        files = [file_stamp(self.folder / name) for name in ("recipe.yaml", "store/outputs.json")]
        return dict(self._made_once("manifests", (*stamps, *files), lambda: self._as_they_are_now(found)))

    def _as_they_are_now(self, found: Mapping[str, Manifest]) -> dict[str, Manifest]:
        recorded = recorded_steps(self.folder)
        if recorded and recorded == {
            name for name in recorded if name in found and outputs_match(self.folder, found[name])
        }:
            found = {name: found[name] for name in found if name in recorded}
        return _in_flow_order(_current(found), self.recipe)

    def _made_once(self, name: str, stamp: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` returns, called again only after the stamp of the files behind it changed."""
        kept = self._kept.get(name)
        if kept is None or kept[0] != stamp:
            kept = self._kept[name] = stamp, make()
        return kept[1]

    def manifest(self, step: str) -> Manifest:
        """The manifest of `step`; DataError if the build does not have it."""
        manifests = self.manifests()
        if step not in manifests and step in self._step_names():
            raise DamagedError(
                f"step {step!r} has no manifest", where=display_path(self.folder),
                why="a build replaces it just now, or never finished it", next="load the page again",
            )  # fmt: skip
        if step not in manifests:
            raise DataError(
                f"there is no step {step!r} in this build", where=display_path(self.folder),
                why=f"it has {', '.join(manifests) or 'none yet'}", next="name one of these",
            )  # fmt: skip
        return manifests[step]

    def _step_names(self) -> list[str]:
        with suppress(OSError):
            return sorted(path.name for path in (self.folder / "store" / "steps").iterdir() if path.is_dir())
        return []

    def _latest(self, step: str) -> Manifest | None:
        """The latest manifest of a step; read again only when its files changed."""
        stamp = self._stamp(step)
        with self._lock:
            known = self._read.get(step)
        if known is not None and known[0] == stamp:
            return known[1]
        for _ in range(_TRIES):
            if len(stamp) != _POINTER_ONLY:
                break
            time.sleep(_SHORT_PAUSE_SECONDS)  # a build puts another folder in the place just now
            stamp = self._stamp(step)
        manifest = None
        with suppress(DamagedError, OSError, json.JSONDecodeError):
            manifest = self.store.latest(step)
        with self._lock:
            self._read[step] = stamp, manifest
        return manifest

    def _stamp(self, step: str) -> tuple[int, ...]:
        """What tells whether the latest manifest of a step is another one: times and numbers of two files."""
        folder, stamp = self.folder / "store" / "steps" / step, tuple[int, ...]()
        with suppress(OSError, UnicodeDecodeError):
            pointer = folder / "latest"
            mark = pointer.stat()
            stamp = (mark.st_mtime_ns, mark.st_ino)
            at = (folder / read_given_text(pointer) / "manifest.json").stat()
            stamp = (*stamp, at.st_mtime_ns, at.st_ino, at.st_size)
        return stamp


def file_stamp(path: Path) -> tuple[int, ...]:
    """What tells whether a file is another one: its time, number and size; empty if there is none."""
    with suppress(OSError):
        mark = path.stat()
        return mark.st_mtime_ns, mark.st_ino, mark.st_size
    return ()


def _read_recipe(path: Path) -> Mapping[str, Any]:
    with suppress(OSError, UnicodeDecodeError, yaml.YAMLError):
        data = parse_plain_yaml(read_given_text(path))
        if isinstance(data, dict):
            return data
    return {}


def _current(found: Mapping[str, Manifest]) -> dict[str, Manifest]:
    """The manifests that were made of each other as they are now."""
    current: dict[str, Manifest] = {}
    waiting = dict(found)
    while ready := [
        name
        for name, manifest in waiting.items()
        if all(up in current and current[up].digest == digest for up, digest in manifest.inputs.items())
    ]:
        current |= {name: waiting.pop(name) for name in ready}
    return current


def _in_flow_order(manifests: Mapping[str, Manifest], recipe: Mapping[str, Any]) -> dict[str, Manifest]:
    """The manifests in the order of a plan: sources first, each step after what it reads, else as in the recipe."""
    names = [name for part in ("sources", "steps") for name in (recipe.get(part) or {}) if name in manifests]
    ordered = {name: manifests[name] for name in [*names, *manifests] if not manifests[name].inputs}

    def visit(name: str) -> None:
        if name not in ordered:
            for above in (up for ups in ports_of_step(manifests[name]).values() for up in ups if up in manifests):
                visit(above)
            ordered[name] = manifests[name]

    for name in [*names, *manifests]:
        visit(name)
    return ordered


def read_again(read: Callable[[], T]) -> T:
    """The result of `read`, tried again while a build puts a step in the place of another; then DamagedError."""
    for _ in range(_TRIES):
        with suppress(DamagedError):
            return read()
        time.sleep(_PAUSE_SECONDS)
    return read()


def is_build(folder: Path) -> bool:
    """Whether somebody built into this folder."""
    return (folder / "store" / "steps").is_dir()


def find_builds(
    folders: Iterable[Path], overrides: Mapping[Path, tuple[str, ...]] | None = None, *, keeps_indexes: bool = True
) -> list[BuildFolder]:
    """The builds in and below `folders`; each has a name of its own, after its folder.

    `overrides` are the words of the recipes by the folders that they build into. `keeps_indexes`: see `BuildFolder`.
    """
    opened_with = {folder.resolve(): words for folder, words in (overrides or {}).items()}
    found: dict[Path, None] = {}
    for folder in folders:
        for build in _builds_below(folder, _DEEPEST):
            found.setdefault(build.resolve(), None)
    builds: list[BuildFolder] = []
    for folder in found:
        taken = {build.name for build in builds}
        name = next(name for name in _names_of(folder) if name not in taken)
        builds.append(BuildFolder(name, folder, opened_with.get(folder, ()), keeps_indexes))
    return builds


def _builds_below(folder: Path, depth: int) -> Iterable[Path]:
    if is_build(folder):
        yield folder
    elif depth:
        with suppress(OSError):
            for below in sorted(folder.iterdir()):
                if below.is_dir() and not below.is_symlink() and not below.name.startswith("."):
                    yield from _builds_below(below, depth - 1)


def _names_of(folder: Path) -> Iterable[str]:
    """Names for a build, the shortest first: its folder, with the folder above it, with numbers."""
    yield folder.name
    yield f"{folder.parent.name}~{folder.name}"
    number = 2
    while True:
        yield f"{folder.name}~{number}"
        number += 1
