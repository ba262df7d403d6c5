"""How two recipes differ, key by key, and the files that they refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.config.search_path import display_path
from benchbuilder.core import parse_plain_yaml, read_given_file


@dataclass(frozen=True)
class KeyChange:
    """A key of two resolved recipes with its value in each; ``None`` if a recipe does not have it."""

    key: str
    left: str | None
    right: str | None


def recipe_key_changes(left: str, right: str) -> list[KeyChange]:
    """Every key that differs in two resolved recipes (YAML text), in the order of the first.

    A list is one value, as it replaces another as a whole; so is everything below a key that only one recipe has.
    """
    return list(_key_changes(parse_plain_yaml(left), parse_plain_yaml(right), ""))


def _key_changes(left: Any, right: Any, key: str) -> Iterator[KeyChange]:
    if isinstance(left, dict) and isinstance(right, dict):
        sides: tuple[dict[Any, Any], dict[Any, Any]] = left, right
        for name in dict.fromkeys([*left, *right]):
            below = f"{key}.{name}" if key else str(name)
            if name in left and name in right:
                yield from _key_changes(left[name], right[name], below)
            else:
                yield KeyChange(below, *(_value_text(side[name]) if name in side else None for side in sides))
    elif left != right:
        yield KeyChange(key, _value_text(left), _value_text(right))


def _value_text(value: Any) -> str:
    text: str = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def file_changes(left: Mapping[str, Path], right: Mapping[str, Path]) -> dict[str, KeyChange | None]:
    """How the lines of files under the same key of two recipes differ; None if only their paths differ."""
    changes: dict[str, KeyChange | None] = {}
    for key in left.keys() & right.keys():
        if left[key] == right[key] or not (left[key].is_file() and right[key].is_file()):
            continue
        one, other = (Counter(read_given_file(path).splitlines()) for path in (left[key], right[key]))
        texts = (f"{display_path(path)} ({own.total()} lines of its own)"
                 for path, own in ((left[key], one - other), (right[key], other - one)))  # fmt: skip
        changes[key] = None if one == other else KeyChange(key, *texts)
    return changes
