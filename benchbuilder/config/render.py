"""A validated recipe as YAML text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from benchbuilder.config.origins import ValueOrigins
from benchbuilder.config.spec.base import DescriptiveField, FileRef, RuntimeOption
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.config.yaml_source import KeyPath, parse_yaml_tree
from benchbuilder.core import public_path

COLUMN = 72
"""Where the origins of values stand, unless a value is longer."""


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, so that every key stands on a line of its own; no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def recipe_data(recipe: Recipe, *, runtime_options: bool = False) -> dict[str, Any]:
    """The resolved recipe as plain data, defaults filled in, in a stable order; paths as they were written.

    A node that a kind inherits is ``null``, as it may be written. Without `runtime_options`, options that do not change
    the output are left out, and only the last part of a path on this machine is shown. The data are then the same
    wherever the recipe is built.
    """
    shared = {id(recipe.tokenizer), id(recipe.model), id(recipe.retriever), id(recipe.annotation)}
    data: dict[str, Any] = _plain(recipe, shared, runtime_options, 0)
    if not runtime_options:
        data["paths"] = {name: path and public_path(path) for name, path in recipe.paths.items()}
    return data


def render_recipe(recipe: Recipe, *, runtime_options: bool = False) -> str:
    """The text of `recipe_data`."""
    return render_data(recipe_data(recipe, runtime_options=runtime_options))


def render_data(data: Mapping[str, Any]) -> str:
    """Plain data as YAML in which every key stands on a line of its own."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100_000)


def _plain(value: Any, shared: set[int], runtime_options: bool, depth: int) -> Any:
    if isinstance(value, FileRef):
        return value.path if runtime_options else public_path(value.path)
    if isinstance(value, BaseModel):
        if depth > 1 and id(value) in shared:
            return None
        data: dict[str, Any] = {}
        for name, info in type(value).model_fields.items():
            if runtime_options or not any(
                isinstance(mark, RuntimeOption) and not isinstance(mark, DescriptiveField) for mark in info.metadata
            ):
                data[info.alias or name] = _plain(getattr(value, name), shared, runtime_options, depth + 1)
        # left out while nothing is set, so that the text of other recipes, and its digest, stays
        return {name: child for name, child in data.items() if child or name not in ("run", "pressure")}
    if isinstance(value, tuple | list | frozenset):
        items: Any = value
        return [_plain(child, shared, runtime_options, depth + 1) for child in items]
    if isinstance(value, dict):
        mapping: dict[Any, Any] = value
        return {str(name): _plain(child, shared, runtime_options, depth + 1) for name, child in mapping.items()}
    return value


def annotate_with_origins(text: str, origins: ValueOrigins) -> str:
    """`text` (as of `render_data`) with the origin of each value as a comment."""
    lines = text.splitlines()
    tree = parse_yaml_tree(text)
    notes = {line: origins.explain(key) for key, line in _leaves(tree, ())} if tree else {}
    width = min(COLUMN, max((len(lines[line]) for line in notes), default=0))
    return "\n".join(f"{line:<{width}}  # {notes[i]}" if i in notes else line for i, line in enumerate(lines)) + "\n"


def _leaves(node: yaml.Node, key: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Keys that hold a scalar or a list, and those of mappings in lists, with their lines counted from 0."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            path = (*key, str(name.value))
            if not (isinstance(value, yaml.MappingNode) and value.value):
                yield path, name.start_mark.line
            yield from _leaves(value, path)
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _leaves(child, (*key, index))
