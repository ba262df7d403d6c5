"""Counts the variants of each model that were tried, so that no best of several is shown alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from benchbuilder.evaluation.solvers import ANSWER
from benchbuilder.pipeline import Store

_NO_SETTINGS = ("input ", "name", "columns of its rows", "order of port", "kind version", "version of")
"""How parts of a key begin that say nothing of how a model was asked: the items, names in the recipe, versions."""
_MODEL = ("model.name", "model.base_url")


def tried_variants(store: Store) -> Mapping[str, int]:
    """In how many settings the model behind each name was asked in this folder, under whatever name; hosted models.

    Prompts and sampling count, and so does whatever else the key of the answers holds. Other items are no variant.
    """
    settings: defaultdict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    models: dict[str, tuple[str, ...]] = {}
    for path in sorted(store.steps.glob(f"{ANSWER}.*")):
        for manifest in store.manifests(path.name):
            parts = manifest.key_inputs
            if _MODEL[0] in parts:
                model = tuple(parts.get(name, "") for name in _MODEL)
                models[path.name.removeprefix(f"{ANSWER}.")] = model
                settings[model].add(
                    tuple(sorted((name, part) for name, part in parts.items() if not name.startswith(_NO_SETTINGS)))
                )
    return {name: len(settings[model]) for name, model in models.items()}
