"""Keys that only the user sets, or a folder that the user trusts: addresses, secrets, prices, places to write to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath, PurePosixPath
from typing import Any

from benchbuilder.config.origins import ValueOrigin, ValueOrigins, leaves_of
from benchbuilder.config.yaml_source import KeyPath, dotted_key
from benchbuilder.core import Problem

ONLY_FROM = "the command line, your own configuration folder, or a folder that you trust"
_SECRETS = re.compile(
    r"(.*_)?(base_url|api_base|api_key|api_key_env|key_env|secret|secret_name|password|database|database_url|database_env|dsn|endpoint)"
)
_WRITE_PLACES = ("address", "storage", "storage_options")
"""Keys of an executor for the destination of work and data; a model has an `address` too."""
_CODE_KEYS = ("trust_remote_code",)
"""Keys that let code of others run."""
_COST_KEYS = ("prices", "token_counter", "extra_body")
"""Keys of a model for its costs, and for further options of the paid service."""


def leads_outside(path: str) -> bool:
    """Whether a path is absolute, starts at a home folder, or climbs with ``..``."""
    return path.startswith(("/", "~", "\\")) or bool(re.match(r"[A-Za-z]:", path)) or ".." in PurePath(path).parts


def user_only_key_problems(data: Mapping[str, Any], origins: ValueOrigins) -> Iterable[Problem]:
    """Problems with addresses, names of secrets, and paths that lead out, wherever they are in a composed recipe."""
    for key, value in leaves_of(data, ()):
        if value is None:
            continue
        origin = origins.origin_of(key)
        away = key[:2] == ("run", "executor") and key[2:3] and key[2] in _WRITE_PLACES
        away = away or (key[-1] == "address" and bool({"model", "models"} & set(key)))
        if away or (isinstance(key[-1], str) and _SECRETS.fullmatch(key[-1])):
            if not origin.is_users:
                yield _refused("a recipe cannot set addresses, databases or secrets", key, origin)
        elif key[-1] in _CODE_KEYS:
            if value and not origin.is_users:
                yield _refused("a recipe cannot let a model run code of its own", key, origin)
        elif origin.trusted or not isinstance(value, str):
            continue
        elif _is_folder_to_write(key):
            if value and key == ("run", "dir") and _is_below_builds(value) and len(PurePosixPath(value).parts) > 2:
                message = "a recipe cannot build into a folder of another build"
                yield _refused(message, key, origin, value, "builds/NAME; others ")
            if value and not _is_below_builds(value):
                yield _refused("a recipe can only write below builds/", key, origin, value, "builds/NAME; others ")
        elif _is_plain_path(key) and leads_outside(value):
            of_task = key[2:] if key[0] == "tasks" else key
            reads = key[0] == "sources" or of_task[:2] == ("evaluation", "scorers")
            verb = "read files outside its sources" if reads else "write outside the build's folder"
            yield _refused(f"a recipe cannot {verb}", key, origin, value)


def cost_key_problems(model: Mapping[str, Any], key: KeyPath, origins: ValueOrigins) -> Iterable[Problem]:
    """Problems with what decides about the bill, in the data of one model below `key`."""
    message = "a recipe cannot set the costs of a model, or further options of its service"
    for name in _COST_KEYS:
        for leaf, value in leaves_of(model.get(name), (*key, name)):
            if value is not None and not (origin := origins.origin_of(leaf)).is_users:
                yield _refused(message, leaf, origin)


def _refused(message: str, key: KeyPath, origin: ValueOrigin, actual: str = "", allowed: str = "") -> Problem:
    return Problem(
        message, key=dotted_key(key), where=str(origin), actual=actual, allowed=f"{allowed}only from {ONLY_FROM}",
        hint=how_to_trust(origin),
    )  # fmt: skip


def how_to_trust(origin: ValueOrigin) -> str:
    """What to type so that the file of a value is trusted; empty for the command line."""
    return origin.root.how_to_trust(origin.file) if origin.root is not None else ""


def _is_plain_path(key: KeyPath) -> bool:
    """Whether a plain text under `key` is a path that is not a FileRef."""
    key = key[2:] if key[0] == "tasks" else key
    if key[:1] == ("outputs",) or key[:2] == ("evaluation", "outputs"):
        return True
    if key[:2] == ("evaluation", "scorers") and key[-1] == "folder":
        return True
    return key[:1] == ("sources",) and key[-1] in ("file", "files")


def _is_folder_to_write(key: KeyPath) -> bool:
    """Whether `key` is the folder of a build, of releases or of an evaluation."""
    return key in (("run", "dir"), ("release", "dir")) or key[-2:] == ("evaluation", "dir")


def _is_below_builds(folder: str) -> bool:
    """Whether `folder` is below ``builds`` in the current folder."""
    parts = PurePosixPath(folder).parts
    return not leads_outside(folder) and parts[:1] == ("builds",) and len(parts) > 1
