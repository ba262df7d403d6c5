"""Lets a copied recipe keep the capitals of its texts: the names that it lists are those of another field."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from benchbuilder.config import YamlEditor, is_flow


def keep_casing(editor: YamlEditor) -> None:
    """Let every `casing` of a file keep letters: the names of its list are those of another field of knowledge."""
    for value in _mappings(editor.tree, "casing"):
        for name, way in value.value:
            if name.value == "default" and way.value == "lower":
                comment = "" if is_flow(value) else " # lower: once `names` lists the names of your field"
                editor.replace_span(way.start_mark.index, way.end_mark.index, f"keep{comment}")


def _mappings(node: yaml.Node | None, key: str) -> Iterator[yaml.MappingNode]:
    """Every mapping under `key`, wherever it is."""
    for child in node.value if isinstance(node, yaml.CollectionNode) else ():
        name, value = child if isinstance(child, tuple) else (None, child)
        if name is not None and name.value == key and isinstance(value, yaml.MappingNode):
            yield value
        yield from _mappings(value, key)
