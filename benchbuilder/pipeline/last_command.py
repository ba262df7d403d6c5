"""The words that a folder was last built with, for who forgot them."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from benchbuilder.core import write_atomically
from benchbuilder.pipeline.store.folder import Store

_FILE = "last_command.json"
_USER = re.compile(r"://[^/]*@")


def save_last_command(store: Store, overrides: Sequence[str]) -> None:
    """Keep the words of a build, but for those that could hold a password, inside the store: they may name places."""
    kept = _without_secrets(overrides)
    if kept == (_read_last_command(store) or []):
        return
    write_atomically(store.folder / "store" / _FILE, json.dumps(kept, ensure_ascii=False))


def _without_secrets(words: Sequence[str]) -> list[str]:
    return [word for word in words if not _USER.search(word)]


def last_command_hint(store: Store, overrides: Sequence[str], recipe_yaml: str) -> str:
    """What to do if the folder was last built with another recipe than `overrides` make; empty if it was not.

    `recipe_yaml` is the recipe that `overrides` make.
    """
    told = "this folder was last built with another recipe: give the arguments of that build"
    built = ""
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        built = (store.folder / "recipe.yaml").read_text(encoding="utf-8")
    if built == recipe_yaml:
        return ""
    last = _read_last_command(store)
    if last is None or set(last) == set(_without_secrets(overrides)):
        return told if built and last is None else ""
    return f"{told}: {shlex.join(last)}"


def _read_last_command(store: Store) -> list[str] | None:
    """The words of the last build, if they are known."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        words: Any = json.loads((store.folder / "store" / _FILE).read_text(encoding="utf-8"))
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            return list(words)
    return None
