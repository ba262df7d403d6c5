"""What a build that makes nothing looks at: the files and folders on which what it says depends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import KindSpec, LoadedRecipe, has_wildcard, list_parts, searched_folders
from benchbuilder.core import SLOTS, file_checksum, kinds_of_slot
from benchbuilder.pipeline.build import BuildReport
from benchbuilder.pipeline.foreign_files import RUN_LOG
from benchbuilder.pipeline.plan import Plan
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import MANIFEST_FILE
from benchbuilder.sources import Source

_CHANGING = (RUN_LOG, "store/lock", "store/cache")
"""What a build that makes nothing changes in its folder, or does not look at."""


@dataclass(frozen=True)
class BuildInputs:
    """What a build that made nothing looked at.

    `files` are files and folders, which need not exist; of a folder its names matter. Of each folder in `trees`
    everything below it matters but the names that are left out.
    """

    files: tuple[Path, ...]
    trees: Mapping[Path, Collection[str]]


def inputs_of_build(loaded: LoadedRecipe, plan: Plan, store: Store) -> BuildInputs | None:
    """What a build looks at that makes nothing; None if nobody can tell from files whether that changed."""
    if _looks_elsewhere(loaded):
        return None
    sources = [node.producer for node in plan.nodes.values() if isinstance(node.producer, Source)]
    named = [ref.file for _, ref in loaded.files] + [ref.file for source in sources for ref in source.files()]
    folder = store.folder.absolute()
    above = [parent / name for parent in folder.parents for name in ("recipe.yaml", "store/outputs.json")]
    folders = [*searched_folders(loaded.search_paths), *(root.path for root in loaded.roots), *loaded.prompt_roots]
    folders += [top for path in named if not (top := _tree_of(path)).is_file()]
    trees: dict[Path, Collection[str]] = dict.fromkeys(folders, ())
    return BuildInputs((*named, *above), {**trees, folder: _CHANGING})


def kept_checksums(report: BuildReport, store: Store) -> dict[Path, str]:
    """The checksums of the files that a build compares: those of its steps, and the outputs."""
    checksums: dict[Path, str] = {}
    for manifest in report.manifests.values():
        place = store.step_folder(manifest.step, manifest.key)
        checksums |= {place / name: checksum for name, checksum in manifest.files.items()}
        checksums[place / MANIFEST_FILE] = file_checksum(place / MANIFEST_FILE)
    return checksums | {path: file_checksum(path) for path in report.written_files}


def _looks_elsewhere(loaded: LoadedRecipe) -> bool:
    """Whether a kind of the recipe is that of a plugin, whose needs nobody knows, or reads more than files."""
    of_plugins = {
        kind.name for slot in SLOTS for kind in kinds_of_slot(slot).values() if kind.distribution != "benchbuilder"
    }
    return any(spec.kind in of_plugins or spec.looks_elsewhere for spec in list_parts(loaded.whole, KindSpec))


def _tree_of(path: Path) -> Path:
    """A file or folder; of a pattern, the folder above its first part with a wildcard."""
    parts = path.parts
    first = next((place for place, part in enumerate(parts) if has_wildcard(part)), len(parts))
    return path if path.exists() else Path(*parts[:first])
