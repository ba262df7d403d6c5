"""What shared files say of sources and steps that a recipe does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchbuilder.config.composed_recipe import ComposedRecipe
from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.recipe_index import RecipeIndex
from benchbuilder.config.search_path import bundled_folder, display_path
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.config.yaml_source import dotted_key

_SHARED = {"rules", "variant"}
"""Groups whose files serve several flows."""


def without_idle_nodes(composed: ComposedRecipe) -> dict[str, Any]:
    """The data without what is said of nodes that the recipe does not have.

    That is settings of sources that were not chosen (``source=[medqa]`` leaves the others out), and what rules and
    variants say of steps of other flows: `left_out_lines` tells them. With ``annotation=none`` it is also what files
    say of how people judge. Names of steps that no flow has stay, and so do settings on the command line: they
    are reported as mistakes.
    """
    data, groups = dict(composed.data), dict[tuple[str, str], set[str]]()
    for key, origin in composed.origins.entries.items():
        groups.setdefault((str(key[0]), str(key[1]) if len(key) > 1 else ""), set()).add(origin.group)
    index = RecipeIndex(composed.roots)
    for part in ("sources", "steps"):
        nodes: dict[str, Any] = data[part] if isinstance(data.get(part), dict) else {}
        real = [name for name, node in nodes.items() if not isinstance(node, dict) or "kind" in node]
        for name in nodes.keys() - {*real}:
            said = groups.get((part, name), {""})
            shared = part == "steps" and said <= _SHARED and _is_of_a_flow(name, index)
            if shared or (part == "sources" and name in composed.idle_sources and "" not in said):
                data[part] = {other: node for other, node in data[part].items() if other != name}
    judging = data.get("annotation")
    if isinstance(judging, dict) and judging.get("kind") == "none":
        told = {
            key[1] for key, origin in composed.origins.entries.items() if key[0] == "annotation" and origin.override
        }
        data["annotation"] = {name: value for name, value in judging.items() if name in ("kind", *told)}
    return data


def left_out_lines(recipe: Recipe, origins: ValueOrigins) -> Iterator[str]:
    """For each file that is not of the program, a line with its settings of sources and steps that the recipe lacks."""
    made = {key[:2] for key in origins.entries if key[2:] == ("kind",)}  # such a node may have been taken out
    found: dict[str, set[str]] = {}
    for key, origin in origins.entries.items():
        nodes = {"sources": recipe.sources, "steps": recipe.steps}.get(str(key[0]))
        if nodes is None or len(key) < 3 or key[1] in nodes or key[:2] in made or origin.file is None:
            continue
        if not origin.file.resolve().is_relative_to(bundled_folder("recipes")):  # these serve several flows
            found.setdefault(display_path(origin.file), set()).add(dotted_key(key[:2]))
    for file, names in found.items():
        yield f"{file} sets what this recipe does not have, so it does nothing here: {', '.join(sorted(names))}"


def _is_of_a_flow(step: str, index: RecipeIndex) -> bool:
    """Whether a flow has a step of this name."""
    line = re.compile(rf"(?m)^\s*{re.escape(step)}\s*:")
    files = (path for flow in index.option_names("flow") for path, _ in index.paths_of(f"flow/{flow}"))
    return any(line.search(index.text_of(path).decode(errors="replace")) for path in files)
