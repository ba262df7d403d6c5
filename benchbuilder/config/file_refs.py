"""Finds the files and prompts of a recipe, and checks what recipes of others may not contain."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from benchbuilder.config.file_listing import outward_link
from benchbuilder.config.origins import ValueOrigin, ValueOrigins, leaves_of
from benchbuilder.config.recipe_index import did_you_mean
from benchbuilder.config.search_path import PRIMARY_FILE, display_path
from benchbuilder.config.spec.base import FileRef, PromptRef
from benchbuilder.config.yaml_source import KeyPath, dotted_key
from benchbuilder.core import Problem, special_file

_USER_ONLY = re.compile(
    r"(.*_)?(base_url|api_base|api_key|api_key_env|key_env|secret|secret_name|password|database|database_url|database_env|dsn|endpoint)"
)
_COST_KEYS = ("prices", "token_counter", "extra_body")
"""Keys of a model for its costs, and for further options of the paid service."""
_WRITE_PLACES = ("address", "storage", "storage_options")
"""Keys of an executor for the destination of work and data."""
_ALLOWED = "the command line, recipes/local/ of the current folder, or your own configuration folder"


def leads_outside(path: str) -> bool:
    """Whether a path is absolute, starts at a home folder, or climbs with ``..``."""
    return path.startswith(("/", "~", "\\")) or bool(re.match(r"[A-Za-z]:", path)) or ".." in PurePath(path).parts


class FileResolver:
    """Fills `resolved_path` of every FileRef and PromptRef, and collects `problems` and `files`."""

    def __init__(self, origins: ValueOrigins, cwd: Path, prompts: Sequence[Path]) -> None:
        self.origins, self.cwd, self.prompts = origins, cwd, tuple(prompts)
        self.problems: list[Problem] = []
        self.files: list[tuple[str, FileRef]] = []

    def resolve_ref(self, ref: FileRef, key: KeyPath) -> FileRef:
        """`ref` with the path of its file, which need not exist."""
        at = self._prompt(ref.path, key) if isinstance(ref, PromptRef) else self._file(ref.path, key)
        placed = ref.model_copy(update={"resolved_path": at})
        self.files.append((dotted_key(key), placed))
        return placed

    def _file(self, path: str, key: KeyPath) -> str:
        origin = self.origins.origin_of(key)
        at = Path(os.path.abspath(origin.folder(self.cwd) / Path(path).expanduser()))  # noqa: PTH100 - keeps links
        if not path:
            self._report("expected the path of a file", key, origin, "nothing")
        elif not origin.trusted and (path.startswith(("~", "\\")) or PurePath(path).is_absolute() or path[1:2] == ":"):
            self._report("a recipe cannot name absolute paths", key, origin, path, allowed=f"only from {_ALLOWED}")
        elif not origin.trusted and origin.root and not at.resolve().is_relative_to(origin.root.path):
            inside = f"files below {display_path(origin.root.path)}; others only from {_ALLOWED}"
            self._report("this path leads out of the folder of recipes", key, origin, path, allowed=inside)
        elif not origin.trusted and origin.root is None and ".." in PurePath(path).parts:
            self._report("a recipe cannot lead on from a path of yours with `..`", key, origin, path)
        elif not origin.trusted and origin.root and (link := outward_link(path, at, origin.root.path)):
            self._report("a link leads out of the folder of recipes", key, origin, display_path(link))
        else:
            self._refuse_special(at, path, key, origin)
        return str(at)

    def _refuse_special(self, at: Path, path: str, key: KeyPath, origin: ValueOrigin) -> None:
        """Report a device, a pipe or a socket, before anything opens it."""
        if kind := special_file(at):
            self._report(f"this is {kind}, not a file", key, origin, path, hint="save what it delivers as a file")

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


def missing_file_problem(key: str, ref: FileRef, where: str, prompts: Sequence[Path]) -> Problem | None:
    """The problem if the file of `ref` does not exist."""
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


def user_only_key_problems(data: Mapping[str, Any], origins: ValueOrigins) -> Iterable[Problem]:
    """Problems with keys that only the user may set: addresses, names of secrets, prices, places to write to."""
    for key, value in leaves_of(data, ()):
        if value is None or (origin := origins.origin_of(key)).trusted:
            continue
        away = key[:2] == ("run", "executor") and key[2:3] and key[2] in _WRITE_PLACES
        if away or any(isinstance(part, str) and _USER_ONLY.fullmatch(part) for part in key[-1:]):
            message = "a recipe cannot set addresses, databases or secrets"
            yield Problem(message, key=dotted_key(key), where=str(origin), allowed=f"only from {_ALLOWED}")
        elif _is_cost_key(key) and not _is_program_model(origin):
            message = "a recipe cannot set the costs of a model, or further options of its service"
            yield Problem(message, key=dotted_key(key), where=str(origin), allowed=f"only from {_ALLOWED}")
        elif _is_folder_to_write(key) and isinstance(value, str) and value and not _is_below_builds(value):
            message, allowed = "a recipe can only write below builds/", f"builds/NAME; others only from {_ALLOWED}"
            yield Problem(message, key=dotted_key(key), where=str(origin), actual=value, allowed=allowed)
        elif _is_plain_path(key) and isinstance(value, str) and leads_outside(value):
            reads = key[0] == "sources" or key[:2] == ("evaluation", "scorers")
            verb = "read files outside its sources" if reads else "write outside the build's folder"
            message, allowed = f"a recipe cannot {verb}", f"only from {_ALLOWED}"
            yield Problem(message, key=dotted_key(key), where=str(origin), actual=value, allowed=allowed)


def _is_program_model(origin: ValueOrigin) -> bool:
    """Whether the value is from the models of a complete folder of recipes: the bundled one, or a checkout's."""
    return origin.root is not None and origin.group == "model" and (origin.root.path / PRIMARY_FILE).is_file()


def _is_cost_key(key: KeyPath) -> bool:
    """Whether `key` is a field of a model about costs, or below one."""
    paying = any(above == "model" and part in _COST_KEYS for above, part in pairwise(key))
    return paying or (key[:2] == ("evaluation", "models") and any(part in _COST_KEYS for part in key[3:4]))


def _is_folder_to_write(key: KeyPath) -> bool:
    """Whether `key` is the folder of a build or of an evaluation."""
    return key == ("run", "dir") or key[-2:] == ("evaluation", "dir")


def _is_below_builds(folder: str) -> bool:
    """Whether `folder` is below ``builds`` in the current folder."""
    parts = PurePosixPath(folder).parts
    return not leads_outside(folder) and parts[:1] == ("builds",) and len(parts) > 1


def _is_plain_path(key: KeyPath) -> bool:
    """Whether a plain text under `key` is a path that is not a FileRef."""
    if key[:2] == ("evaluation", "outputs") or (key[:1] == ("tasks",) and "outputs" in key[2:4]):
        return True
    if key[:2] == ("evaluation", "scorers") and key[-1] == "folder":
        return True
    return key[0] == "outputs" or (key[0] == "sources" and key[-1] in ("file", "files"))
