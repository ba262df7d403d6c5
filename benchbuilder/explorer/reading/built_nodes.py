"""The steps of a build by its recipe, as far as the recipe is as it was when they were built."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from benchbuilder.config import load_recipe
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import Checksums, Node, make_plan


def built_nodes(build: BuildFolder) -> tuple[Node, ...]:
    """The nodes of the plan whose steps are in the build; none if its command is not known.

    Raises:
        BenchbuilderError: The recipe cannot be read any more.
    """
    return _nodes(build, build.words, build.built_at) if build.words else ()


@lru_cache(maxsize=8)
def _nodes(build: BuildFolder, words: tuple[str, ...], _built_at: Any) -> tuple[Node, ...]:
    store = build.store
    plan = make_plan(load_recipe(words).whole, store, Checksums(store.checksums).sha256_of)
    built = build.manifests()
    return tuple(node for name, node in plan.nodes.items() if name in built and built[name].key == node.key)
