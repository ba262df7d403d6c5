"""Composes each recipe once: in a process, and on disk for the commands that follow.

Composing takes most of a second and a command that changes nothing has little else to do. A composed recipe is kept in
the user's cache folder, by the content of everything that it depends on; so it never goes stale, and may be deleted.
Plain values of the command line are put into a kept recipe where nothing else depends on them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

from benchbuilder.config.cache_folder import keep_cached, read_cached
from benchbuilder.config.composed_recipe import ComposedRecipe, composed_from_json, composed_to_json
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.replaced_values import put_values, split_plain_values
from benchbuilder.config.search_path import RecipeRoot, digest_of_files
from benchbuilder.config.trust import user_cache_folder

_LIBRARIES = ("hydra-core", "omegaconf", "pyyaml")


@dataclass(frozen=True)
class Composition:
    """A composed `recipe`; `file` is where it may be kept for later commands, None if it is there or may not be."""

    recipe: ComposedRecipe
    file: Path | None

    def keep(self) -> None:
        """Keep the recipe for later commands. Call it once the recipe is valid: one that is refused may hold a secret.

        A cache that cannot be written is no fault.
        """
        if self.file is None or self.file.exists():
            return
        with suppress(TypeError, ValueError):
            keep_cached(self.file, composed_to_json(self.recipe))


def composed_recipe(
    overrides: Sequence[str],
    roots: Sequence[RecipeRoot],
    environ: Mapping[str, str] | None = None,
    drafts: Mapping[Path, str] | None = None,
) -> Composition:
    """What `compose_recipe` makes of ``recipe=NAME key=value ...``; the same overrides over the same files only once.

    Args:
        overrides: the command line.
        roots: the folders of recipes.
        environ: the environment, unless it is the one of this process; it says where the cache lies.
        drafts: texts that stand for those of files; such a recipe is not kept.

    Raises:
        CompositionError: overrides cannot be read, or a choice does not exist.
        RecipeError: a file is malformed, or is found in two roots.
    """
    if drafts or (files := digest_of_files(roots)) is None:
        return Composition(_compose(overrides, roots, drafts=drafts), None)
    folder = user_cache_folder(os.environ if environ is None else environ) / "composed"
    made = _composed(tuple(overrides), tuple(roots), files, _message_folder(roots), folder)
    own = replace(made.recipe, data=deepcopy(made.recipe.data), origins=made.recipe.origins.copy())
    return replace(made, recipe=own)


@lru_cache(maxsize=32)
def _composed(
    overrides: tuple[str, ...], roots: tuple[RecipeRoot, ...], files: str, messages: str, folder: Path
) -> Composition:
    """The composed recipe; `files` is the digest of all files, `messages` the folder from which messages name files."""

    def place(texts: tuple[str, ...]) -> Path:
        inputs = repr((texts, roots, files, messages, _program()))
        return folder / f"{hashlib.sha256(inputs.encode(errors='surrogateescape')).hexdigest()}.json"

    file = place(overrides)
    if (kept := _read(file, roots)) is not None:
        return Composition(kept, None)
    others, values = split_plain_values(overrides, RecipeIndex(roots))
    base = _read(place(others), roots) if values else None
    made = None if base is None else put_values(base, values)
    return Composition(_compose(overrides, roots, files) if made is None else made, file)


def _compose(
    overrides: Sequence[str],
    roots: Sequence[RecipeRoot],
    files: str | None = None,
    drafts: Mapping[Path, str] | None = None,
) -> ComposedRecipe:
    from benchbuilder.config.compose import compose_recipe  # hydra takes a third of the time of a kept recipe

    return compose_recipe(overrides, roots, files, drafts)


def _read(file: Path, roots: Sequence[RecipeRoot]) -> ComposedRecipe | None:
    """A kept recipe; None if there is none. A damaged one is deleted, so that the next one is kept."""
    with suppress(ValueError, KeyError, TypeError, IndexError):
        if (kept := read_cached(file)) is not None:
            return composed_from_json(kept, roots)
    with suppress(OSError):
        file.unlink(missing_ok=True)
    return None


@cache
def _program() -> str:
    """A digest of the code that composes, and the versions of the libraries that it calls."""
    digest = hashlib.sha256(repr([version(name) for name in _LIBRARIES]).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _message_folder(roots: Sequence[RecipeRoot]) -> str:
    """The current folder; empty if no file below `roots` lies below it, so that messages name each file in full."""
    here = Path.cwd()
    near = any(root.path.is_relative_to(here) or here.is_relative_to(root.path) for root in roots)
    return str(here) if near else ""
