"""Compares everything in a build's folder with its checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import DamagedError, read_sealed_json
from benchbuilder.pipeline.shards.files import check_files
from benchbuilder.pipeline.store.manifest import read_manifest
from benchbuilder.retrieval import arrays_are_whole

_SEALED = ("checksums.json", "last_command.json", "outputs.json", "audits/*.json")
"""The files below ``store`` that hold a checksum of themselves."""


@dataclass(frozen=True)
class StoreCheck:
    """What was found: `steps` and `files` count what was compared, `damaged` says what is wrong, by path.

    `other_versions` are the folders of steps that another version of benchbuilder built; they cannot be compared.
    """

    steps: int
    files: int
    damaged: dict[Path, str]
    other_versions: tuple[Path, ...]


def check_store(folder: Path) -> StoreCheck:
    """Compare all steps in a build's folder, under any key, its records and its outputs; nothing is changed.

    The journal of paid replies and people's work are not part of it: they have formats of their own.
    """
    store = folder / "store"
    damaged, others, steps, files = dict[Path, str](), list[Path](), 0, 0
    for place in sorted(store.glob("steps/*/*/")):
        if not place.is_dir() or place.suffix:  # a step in the making is compared by the build that goes on with it
            continue
        try:
            manifest = read_manifest(place)
        except DamagedError as error:
            damaged[place] = error.why
            continue
        if manifest is None:
            others.append(place)
            continue
        steps, files = steps + 1, files + 1 + len(manifest.files)
        damaged |= _damaged_files(place, manifest.files)
    for path in [path for pattern in _SEALED for path in sorted(store.glob(pattern))]:
        files += 1
        try:
            read_sealed_json(path)
        except ValueError as error:
            damaged[path] = str(error)
    for header in sorted(store.glob("cache/*/header.json")):
        files += 1
        if not arrays_are_whole(header.parent):
            damaged[header.parent] = "does not have its checksums; the step that needs this index makes it again"
    outputs = _output_checksums(store / "outputs.json")
    damaged |= _damaged_files(folder, outputs)
    return StoreCheck(steps, files + len(outputs), damaged, tuple(others))


def _damaged_files(folder: Path, checksums: Mapping[str, str]) -> dict[Path, str]:
    damaged: dict[Path, str] = {}
    for name, checksum in checksums.items():
        try:
            check_files(folder, {name: checksum})
        except DamagedError as error:
            damaged[folder / name] = error.why.removeprefix(f"{name} ")
    return damaged


def _output_checksums(mark: Path) -> dict[str, str]:
    """The checksums of the outputs, as the build wrote them; none if it is not known which there should be."""
    try:
        return read_sealed_json(mark)["files"]
    except (FileNotFoundError, ValueError, KeyError):
        return {}
