"""Finds the files and prompts of a recipe, and checks what recipes of others may not contain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from benchbuilder.config.file_listing import outward_link, real_path
from benchbuilder.config.origins import ValueOrigin, ValueOrigins
from benchbuilder.config.recipe_index import did_you_mean
from benchbuilder.config.search_path import display_path
from benchbuilder.config.spec.base import FileRef, PromptRef
from benchbuilder.config.user_only import ONLY_FROM, how_to_trust, leads_outside
from benchbuilder.config.yaml_source import KeyPath, dotted_key
from benchbuilder.core import SPECIAL_FILE_HINT, Problem, special_file


class FileResolver:
    """Fills `resolved_path` of every FileRef and PromptRef, and collects `problems` and `files`."""

    def __init__(self, origins: ValueOrigins, cwd: Path, prompts: Sequence[Path]) -> None:
        self.origins, self.cwd, self.prompts = origins, cwd, tuple(prompts)
        self.problems: list[Problem] = []
        self.files: list[tuple[str, FileRef]] = []

    def resolve_ref(self, ref: FileRef, key: KeyPath) -> FileRef:
        """`ref` with the path of its file, which need not exist."""
        if "\0" in ref.path:
            self._report("no path holds the character NUL", key, self.origins.origin_of(key), repr(ref.path))
            return ref
        at = self._prompt(ref.path, key) if isinstance(ref, PromptRef) else self._file(ref.path, key)
        placed = ref.model_copy(update={"resolved_path": at})
        self.files.append((dotted_key(key), placed))
        return placed

    def _file(self, path: str, key: KeyPath) -> str:
        origin = self.origins.origin_of(key)
        at = Path(os.path.abspath(origin.folder(self.cwd) / Path(path).expanduser()))  # noqa: PTH100 - keeps links
        inside = origin.root.path if origin.root else self.cwd.resolve()
        only, hint = f"only from {ONLY_FROM}", how_to_trust(origin)
        if not path:
            self._report("expected the path of a file", key, origin, "nothing")
        elif origin.trusted:
            self._refuse_special(at, path, key, origin)
        elif path.startswith(("~", "\\")) or PurePath(path).is_absolute() or path[1:2] == ":":
            self._report("a recipe cannot name absolute paths", key, origin, path, allowed=only, hint=hint)
        elif origin.root is not None and not real_path(at).is_relative_to(inside):
            allowed = f"files below {display_path(inside)}; others {only}"
            self._report("this path leads out of the folder of recipes", key, origin, path, allowed=allowed, hint=hint)
        elif origin.root is None and ".." in PurePath(path).parts:
            self._report("a recipe cannot lead on from a path of yours with `..`", key, origin, path)
        elif origin.root is not None and (link := outward_link(path, at, inside)):
            found = display_path(link)
            self._report("a link leads out of the folder of recipes", key, origin, found, hint=hint)
        else:
            self._refuse_special(at, path, key, origin)
        return str(at)

    def _refuse_special(self, at: Path, path: str, key: KeyPath, origin: ValueOrigin) -> None:
        """Report a device, a pipe or a socket, before anything opens it."""
        if kind := special_file(at):
            self._report(f"this is {kind}, not a file", key, origin, path, hint=SPECIAL_FILE_HINT)

    def _prompt(self, path: str, key: KeyPath) -> str:
        origin = self.origins.origin_of(key)
        if leads_outside(path) or not path:
            allowed = "a path below a folder of prompts, for instance xx/name.j2"
            self._report("a prompt is a path below a folder of prompts", key, origin, path, allowed=allowed)
            return ""
        found = [folder / path for folder in self.prompts if (folder / path).is_file()]
        if len(found) > 1:
            places = " and ".join(map(display_path, found))
            self._report("this prompt exists in several folders", key, origin, places, hint="rename one of them")
        for place in found[:1]:
            if not any(place.resolve().is_relative_to(folder) for folder in self.prompts):
                self._report("a link leads this prompt out of its folder", key, origin, path)
        for folder in self.prompts:
            self._refuse_special(folder / path, path, key, origin)
        return str(found[0] if found else (*self.prompts, self.cwd)[0] / path)

    def _report(self, message: str, key: KeyPath, origin: ValueOrigin, actual: str, **more: str) -> None:
        self.problems.append(Problem(message, key=dotted_key(key), where=str(origin), actual=actual, **more))


_FILE_KEYS = (
    *("words", "stop_words", "user_dictionary", "dictionary", "names", "forms", "tables", "rubric", "prices"),
    *("guideline", "published", "published_judges", "probes", "replies", "translations", "glossary"),
)
"""Keys whose files cannot be folders; for lists and mappings, the key above."""


def _needs_file(key: str, ref: FileRef) -> bool:
    """Whether a folder cannot be given under `key`."""
    parts = key.partition("[")[0].split(".")
    of_mapping = parts[0] != "sources" and parts[-2:-1] in (["relations"], ["strings"])
    return isinstance(ref, PromptRef) or parts[-1] in _FILE_KEYS or of_mapping


def missing_file_problem(key: str, ref: FileRef, where: str, prompts: Sequence[Path]) -> Problem | None:
    """The problem if the file of `ref` does not exist, or is a folder where a file is needed."""
    if ref.file.is_dir() and _needs_file(key, ref):
        hint = "name a file in this folder"
        return Problem("this is a folder, not a file", key=key, where=where, actual=ref.path, hint=hint)
    if ref.file.exists():
        return None
    if isinstance(ref, PromptRef):
        known = sorted({p.relative_to(root).as_posix() for root in prompts for p in root.rglob("*.j2")})
        places = ", ".join(map(display_path, prompts)) or "no folder of prompts was found"
        if (Path.cwd() / "prompts").resolve() not in prompts:
            places += ", or ./prompts beside your ./recipes"
        hint = did_you_mean(ref.path, known) or "name a file below one of these folders"
        return Problem(
            "this prompt does not exist", key=key, where=where, actual=ref.path, allowed=f"below {places}", hint=hint
        )
    folder = ref.file.parent
    near = did_you_mean(ref.file.name, sorted(p.name for p in folder.iterdir())) if folder.is_dir() else ""
    hint = near or "relative paths start at the folder of their file; on the command line, at the current folder"
    return Problem(
        "this file does not exist", key=key, where=where, actual=f"{ref.path} ({display_path(ref.file)})", hint=hint
    )
