"""Keeps the loaded recipe of a build as long as none of its files changes: loading takes a third of a second."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchbuilder.config import LoadedRecipe, load_recipe

Stamps = dict[Path, tuple[int, int]]


class RecipeMemory:
    """Recipes by the words that choose them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[tuple[str, ...], ...], tuple[Stamps, LoadedRecipe]] = {}

    def load(self, overrides: Sequence[str], recipes: Sequence[str]) -> LoadedRecipe:
        """The recipe as it is now; RecipeError if it is wrong."""
        key = (tuple(overrides), tuple(recipes))
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[0] == _stamps(known[1]):
            return known[1]
        loaded = load_recipe(overrides, recipes=recipes)
        with self._lock:
            self._known[key] = _stamps(loaded), loaded
        return loaded

    def forget(self, overrides: Sequence[str], recipes: Sequence[str]) -> None:
        """Load the recipe anew next time: a file was added that may win over another."""
        with self._lock:
            self._known.pop((tuple(overrides), tuple(recipes)), None)


def _stamps(loaded: LoadedRecipe) -> Stamps:
    """Size and time of every file that set a value."""
    stamps: Stamps = {}
    for path in {origin.file for origin in loaded.origins.entries.values() if origin.file is not None}:
        with suppress(OSError):
            stat = path.stat()
            stamps[path] = stat.st_mtime_ns, stat.st_size
    return stamps
