"""What it takes to resolve the references of a recipe: texts that refer to texts can double at every key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchbuilder.config.composition_faults import CompositionError, CompositionFault
from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.yaml_source import KeyPath

_REFERENCE = re.compile(r"\$\{(?:oc\.select:)?(\.*)([^${},]+)")
_DEEPEST = 50
_TEXT = 1_000
"""Characters of a text that count as one lookup more."""

Path = tuple[str, ...]


def costly_reference(raw: Any, most: int) -> Path | None:
    """The first key of an unresolved tree whose text takes more than `most` lookups, or a chain of too many keys.

    Each key is looked at once, so that this takes as long as the tree is large.

    >>> costly_reference({"a": "${b}${b}", "b": "${c}${c}", "c": "x"}, 6)
    ('a',)
    >>> costly_reference({"a": "${b}${b}", "b": "${c}${c}", "c": "x"}, 7) is None
    True
    """
    texts = dict(_texts(raw, ()))
    costs: dict[Path, int] = {}
    return next((path for path in texts if _cost(path, texts, costs, most, ()) > most), None)


def endless_error(key: KeyPath, origins: ValueOrigins, index: RecipeIndex) -> CompositionError:
    """The error of references without an end at a key."""
    fault = CompositionFault("endless", key=str(key[0]), detail=str(origins.written_origin(key)))
    return CompositionError([fault], index)


def _texts(node: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        yield path, node
    else:
        entries = node.items() if isinstance(node, Mapping) else enumerate(node) if isinstance(node, list) else ()
        for name, value in entries:
            yield from _texts(value, (*path, str(name)))


def _cost(path: Path, texts: Mapping[Path, str], costs: dict[Path, int], most: int, above: tuple[Path, ...]) -> int:
    """The lookups of one key; 1 for what is no text, and in a circle, which has a message of its own."""
    if path not in texts or path in above:
        return 1
    if path not in costs:
        text = texts[path]
        cost = 1 + len(text) // _TEXT
        for dots, name in _REFERENCE.findall(text):
            base = path[: max(0, len(path) - len(dots))] if dots else ()
            target = (*base, *(part for part in re.split(r"[.\[\]]+", name.strip()) if part))
            deeper = len(above) >= _DEEPEST
            cost += most + 1 if deeper else _cost(target, texts, costs, most, (*above, path))
        costs[path] = min(cost, most + 1)
    return costs[path]
