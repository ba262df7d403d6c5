"""Leaves out what shared files say of sources and steps that a recipe does not have."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from benchbuilder.config.composed_recipe import ComposedRecipe

_SLIP = 0.85
"""So similar is a misspelt name to the right one; names of steps that do the same with something else are less so."""


def without_idle_nodes(composed: ComposedRecipe) -> dict[str, Any]:
    """The data without what is said of nodes that the recipe does not have.

    That is settings of sources that were not chosen (``source=[medqa]`` leaves the others out), and what rules and
    variants, which serve several flows, say of other steps. What may be a slip of the pen for the name of a step stays,
    and so do settings on the command line: they are reported as mistakes.
    """
    data, groups = dict(composed.data), dict[tuple[str, str], set[str]]()
    for key, origin in composed.origins.entries.items():
        groups.setdefault((str(key[0]), str(key[1]) if len(key) > 1 else ""), set()).add(origin.group)
    for part in ("sources", "steps"):
        nodes: dict[str, Any] = data[part] if isinstance(data.get(part), dict) else {}
        real = [name for name, node in nodes.items() if not isinstance(node, dict) or "kind" in node]
        for name in nodes.keys() - {*real}:
            said = groups.get((part, name), {""})
            shared = part == "steps" and said <= {"rules", "variant"} and not get_close_matches(name, real, 1, _SLIP)
            if shared or (part == "sources" and name in composed.idle_sources and "" not in said):
                data[part] = {other: node for other, node in data[part].items() if other != name}
    return data
