"""Decides whether a benchmark is illustrative: whether a source that it uses is sample data that came with a recipe."""

from __future__ import annotations

import filecmp
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.search_path import RecipeRoot, installed_folders
from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core import Problem, find_kind, payload_kind, read_given_file

_KEY = ("card", "illustrative")
_MOST_FILES = 200
"""So many files of a folder are compared with the samples."""


@dataclass(frozen=True)
class SampleUse:
    """The recipe with `illustrative` set for each task, and warnings about what its author said of it."""

    recipe: Recipe
    warnings: tuple[Problem, ...]


def decide_illustrative(
    recipe: Recipe, files: Sequence[tuple[str, FileRef]], origins: ValueOrigins, roots: Sequence[RecipeRoot]
) -> SampleUse:
    """Set `card.illustrative` by the sources in use, for each task on its own.

    A task is illustrative if a source in use is installed sample data, or a copy of it. Other data are the user's own:
    then the word of the recipe counts only if it was given for sources of the same folder, or on the command line.
    """
    sources = {name: [ref.file for key, ref in files if key.startswith(f"sources.{name}.")] for name in recipe.sources}
    folders = installed_folders()
    samples = {name for name, paths in sources.items() if any(_is_sample(path, folders) for path in paths)}
    used = {task: _sources_of(part, sources) for task, part in recipe.by_task().items()}
    decided = {
        task: bool(samples & names)
        or (
            recipe.card.illustrative and _is_said_of([file for name in names for file in sources[name]], origins, roots)
        )
        for task, names in used.items()
    }
    changed: dict[str, Any] = {
        "card": recipe.card.model_copy(update={"illustrative": any(decided.values())}),
        "tasks": {name: task.model_copy(update={"illustrative": decided[name]}) for name, task in recipe.tasks.items()},
    }
    found = sorted(samples & {name for names in used.values() for name in names})
    return SampleUse(recipe.model_copy(update=changed), tuple(_denied(recipe, found, origins)))


def _denied(recipe: Recipe, samples: Sequence[str], origins: ValueOrigins) -> Iterator[Problem]:
    """A warning if the recipe says that it is not illustrative, and uses samples."""
    if samples and not recipe.card.illustrative and _KEY in origins.entries:
        yield Problem(
            "sources are bundled sample data, so the card and all pages say so", key="card.illustrative",
            where=str(origins.origin_of(_KEY)), actual=f"false, with the sample of {', '.join(samples)}",
            hint="give the paths of your own data, or leave these sources out: sources.NAME=null",
        )  # fmt: skip


def _is_said_of(files: Sequence[Path], origins: ValueOrigins, roots: Sequence[RecipeRoot]) -> bool:
    """Whether what the recipe says of itself is about sources with these files: the words of another recipe are not."""
    origin = origins.origin_of(_KEY)
    if origin.override:
        return True
    root = next((root.path for root in roots if origin.file and origin.file.is_relative_to(root.path)), None)
    return root is not None and any(file.is_relative_to(root) for file in files)


def _sources_of(recipe: Recipe, sources: Mapping[str, object]) -> set[str]:
    """The sources from which the items are made, those of paragraphs included; all of them if that is not known."""
    used, seen, waiting = set[str](), set[str](), [recipe.items]
    while waiting:
        step = waiting.pop()
        if step in seen or step not in recipe.steps:
            continue
        seen.add(step)
        for ref in (ref for refs in recipe.step_spec(step).from_.values() for ref in refs):
            if ref.startswith("sources."):
                used |= _named(recipe, ref.removeprefix("sources."))
            else:
                waiting.append(ref)
    return used or set(sources)


def _named(recipe: Recipe, name: str) -> set[str]:
    """The sources that ``sources.NAME`` means: one, or all with rows of that name or payload."""
    if name in recipe.sources:
        return {name}
    rows = {one: find_kind("source", spec.kind).load().row_class(spec) for one, spec in recipe.sources.items()}
    return {one for one, row in rows.items() if name in (row.name, payload_kind(row))}


def is_sample_file(path: Path) -> bool:
    """Whether a file or folder is installed with a recipe, or holds a copy of such a file."""
    return _is_sample(path, installed_folders())


@cache
def sample_checksums() -> frozenset[str]:
    """The SHA-256 checksums of all files of installed samples, by which a record of a former run knows them."""
    sizes = _sample_sizes(installed_folders())
    return frozenset(hashlib.sha256(read_given_file(file)).hexdigest() for files in sizes.values() for file in files)


def _is_sample(path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a file, or one of a folder or pattern, is installed with a recipe, or is a copy of such a file."""
    if any(path.is_relative_to(folder) for folder in folders):
        return True
    sizes = _sample_sizes(folders)
    return any(
        filecmp.cmp(file, sample, shallow=False)
        for file in _files_at(path)
        for sample in sizes.get(file.stat().st_size, ())
    )


def _files_at(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    folder, pattern = (path, "*") if path.is_dir() else (path.parent, path.name)
    if not folder.is_dir():
        return []
    return [file for file in sorted(folder.glob(pattern))[:_MOST_FILES] if file.is_file()]


@cache
def _sample_sizes(folders: tuple[Path, ...]) -> dict[int, list[Path]]:
    """The files of installed samples by their size."""
    sizes: dict[int, list[Path]] = {}
    for folder in folders:
        for file in sorted(folder.glob("recipe/*/sample/**/*")):
            if file.is_file() and file.stat().st_size:
                sizes.setdefault(file.stat().st_size, []).append(file)
    return sizes
