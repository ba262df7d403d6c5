"""The words that a folder was last built with, for who forgot them."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from benchbuilder.store.folder import Store

_USER = re.compile(r"://[^/]*@")


def kept_words(words: Sequence[str]) -> list[str]:
    """The words of a build as its run log keeps them; none that could hold a password is kept.

    >>> kept_words(["recipe=garden", "model.base_url=http://me:secret@host/v1"])
    ['recipe=garden']
    """
    return [word for word in words if not _USER.search(word)]


def former_words(store: Store, words: Sequence[str], recipe_yaml: str) -> str:
    """What to do if the folder was last built with another recipe than `words` make; empty if it was not.

    `recipe_yaml` is the recipe that `words` make.
    """
    told = "this folder was last built with another recipe: give the words of that build"
    built = ""
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        built = (store.folder / "recipe.yaml").read_text(encoding="utf-8")
    if built == recipe_yaml:
        return ""
    last = _last(store)
    if last is None or set(last) == set(kept_words(words)):
        return told if built and last is None else ""
    return f"{told}: {shlex.join(last)}"


def _last(store: Store) -> list[str] | None:
    """The words of the last run that the log has, if it has them."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        lines = (store.folder / "run.jsonl").read_text(encoding="utf-8").splitlines()
        run: Any = json.loads(lines[-1]) if lines else {}
        words = run.get("words")
        if words and all(isinstance(word, str) for word in words):
            return list(words)
    return None
