"""Composes each recipe once: in a process, and on disk for the commands that follow.

Composing takes most of a second and a command that changes nothing has little else to do. A composed recipe is kept in
the user's cache folder, by the content of everything that it depends on; so it never goes stale, and may be deleted.
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

from benchbuilder.config.composed_recipe import ComposedRecipe, composed_from_json, composed_to_json
from benchbuilder.config.search_path import RecipeRoot, digest_of_files
from benchbuilder.config.trust import user_cache_folder
from benchbuilder.core import seal_json, unseal_json, write_atomically

_LIBRARIES = ("hydra-core", "omegaconf", "pyyaml")
_MOST_KEPT = 100
"""Composed recipes on disk, each of about half a megabyte."""


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
        with suppress(OSError, TypeError, ValueError):
            folder = self.file.parent
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(folder):
                write_atomically(self.file, seal_json(composed_to_json(self.recipe)), sync=False)
                _forget_oldest(folder)


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
    inputs = repr((overrides, roots, files, messages, _program()))
    file = folder / f"{hashlib.sha256(inputs.encode(errors='surrogateescape')).hexdigest()}.json"
    if (kept := _read(file, roots)) is not None:
        return Composition(kept, None)
    return Composition(_compose(overrides, roots, files), file)


def _compose(
    overrides: Sequence[str],
    roots: Sequence[RecipeRoot],
    files: str | None = None,
    drafts: Mapping[Path, str] | None = None,
) -> ComposedRecipe:
    from benchbuilder.config.compose import compose_recipe  # hydra takes a third of the time of a kept recipe

    return compose_recipe(overrides, roots, files, drafts)


def _read(file: Path, roots: Sequence[RecipeRoot]) -> ComposedRecipe | None:
    """A kept recipe; None if there is none, or it is damaged."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        if _is_private(file.parent):
            kept = composed_from_json(unseal_json(file.read_bytes()), roots)
            os.utime(file)
            return kept
    return None


def _is_private(folder: Path) -> bool:
    """Whether nobody else may write to `folder`: what lies there says which values the user vouches for."""
    found = folder.stat()
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)


def _forget_oldest(folder: Path) -> None:
    """Delete what was not used for longest, if there is too much."""
    kept = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime)
    for file in kept[:-_MOST_KEPT]:
        file.unlink(missing_ok=True)


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
