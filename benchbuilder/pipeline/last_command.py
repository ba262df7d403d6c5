"""Remembers the overrides of the last build."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Sequence
from typing import Any

from benchbuilder.core import read_given_text, read_sealed_json, seal_json, write_atomically
from benchbuilder.pipeline.store.folder import Store

_FILE = "last_command.json"
_USER = re.compile(r"://[^/]*@")


def save_last_command(store: Store, overrides: Sequence[str]) -> None:
    """Save the overrides of a build in the store, except those that may hold a password."""
    safe = without_secrets(overrides)
    if safe != (last_overrides(store) or []):
        write_atomically(store.folder / "store" / _FILE, seal_json({"overrides": safe}), sync=False)


def without_secrets(overrides: Sequence[str]) -> list[str]:
    """The overrides but for those that may hold a password."""
    return [override for override in overrides if not _USER.search(override)]


def last_command_hint(store: Store, overrides: Sequence[str], recipe_yaml: str) -> str:
    """What to do if the folder was last built with another recipe; empty if it was not.

    Args:
        store: The store of the folder.
        overrides: The overrides of this command.
        recipe_yaml: The recipe that they make.
    """
    hint = "this folder was last built with other settings: give the arguments of that build"
    built = ""
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        built = read_given_text(store.folder / "recipe.yaml")
    if built == recipe_yaml:
        return ""
    last = last_overrides(store)
    if last is None or set(last) == set(without_secrets(overrides)):
        return hint if built and last is None else ""
    return f"{hint}: {shlex.join(last)}"


def last_overrides(store: Store) -> list[str] | None:
    """The overrides of the last build, if they are known; those that may hold a password are not."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        overrides: Any = read_sealed_json(store.folder / "store" / _FILE).get("overrides")
        if isinstance(overrides, list) and overrides and all(isinstance(override, str) for override in overrides):
            return list(overrides)
    return None
