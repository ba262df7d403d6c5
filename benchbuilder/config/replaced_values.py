"""Puts plain values of the command line into a recipe that was composed without them, where nothing else depends on it.

Composing takes most of a second, and most overrides replace one number or word that no other value refers to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.config.composed_recipe import ComposedRecipe
from benchbuilder.config.origins import ValueOrigins, record_override
from benchbuilder.config.recipe_index import RecipeIndex

Key = tuple[str, ...]

_PLAIN = re.compile(
    r"(?P<key>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)="
    r"(?:(?P<whole>0|-?[1-9]\d{0,17})|(?P<decimal>-?(?:0|[1-9]\d*)\.\d+)|(?P<constant>true|false|null)|(?P<word>[A-Za-z_][\w/.-]*))",
    re.ASCII,
)
_CONSTANTS = {"true": True, "false": False, "null": None}
_WORDS_FOR_NUMBERS = ("true", "false", "null", "nan", "inf")
"""Words that Hydra reads as something else, in capitals too."""
_CHOICES = ("recipe", "variant", "hydra")


@dataclass(frozen=True)
class PlainValue:
    """A plain `value` that the override `text` gives to `key`."""

    key: Key
    value: Any
    text: str


def split_plain_values(overrides: Sequence[str], index: RecipeIndex) -> tuple[tuple[str, ...], list[PlainValue]]:
    """The other overrides, and those that set plain values.

    None of these if one might touch another override, or if an override that follows sets a key too: keys are merged in
    the order of the command line.
    """
    others: list[str] = []
    values: list[PlainValue] = []
    set_keys: list[Key] = []
    for text in overrides:
        if (found := _plain_value(text, index)) is not None:
            if any(_is_above(key, found.key) for key in set_keys):
                return tuple(overrides), []
            values.append(found)
            set_keys.append(found.key)
            continue
        others.append(text)
        if not _is_choice(text, index):
            if values:
                return tuple(overrides), []
            set_keys.append(_set_key(text))
    return tuple(others), values


def put_values(base: ComposedRecipe, values: Sequence[PlainValue]) -> ComposedRecipe | None:
    """The recipe `base`, which is changed, with other values; None unless that is all that changes."""
    if base.unresolved or base.references is None:
        return None
    for given in values:
        node = _mapping_at(base.data, given.key[:-1])
        if node is None or not _can_be_put(given.key, node, base.origins) or _is_referred(given.key, base.references):
            return None
        node[given.key[-1]] = given.value
        record_override(base.origins, given.key, given.value, given.text)
    return base


def _can_be_put(key: Key, node: Mapping[str, Any], origins: ValueOrigins) -> bool:
    """Whether `key` has a plain value in its mapping `node`, or nothing ever had this key, but its mapping is there."""
    if key[-1] in node:
        return key in origins.entries and not isinstance(node[key[-1]], dict | list)
    return key[:-1] in origins.entries and key not in origins.entries and key not in origins.above


def _plain_value(text: str, index: RecipeIndex) -> PlainValue | None:
    match = _PLAIN.fullmatch(text)
    if match is None or match["key"].partition(".")[0] in _CHOICES or index.is_group(match["key"]):
        return None
    if match["word"] is not None and match["word"].lower() in _WORDS_FOR_NUMBERS:
        return None
    value: Any = match["word"]
    if match["whole"] is not None:
        value = int(match["whole"])
    elif match["decimal"] is not None:
        value = float(match["decimal"])
    elif match["constant"] is not None:
        value = _CONSTANTS[match["constant"]]
    return PlainValue(tuple(match["key"].split(".")), value, text)


def _is_choice(text: str, index: RecipeIndex) -> bool:
    """Whether an override chooses from a group; a mapping is merged into what was chosen."""
    return index.is_group(".".join(_set_key(text))) and "{" not in text


def _set_key(text: str) -> Key:
    """The key that an override sets or deletes, or the group of which it chooses, as far as its text tells."""
    return tuple(text.lstrip("+~").partition("=")[0].partition("@")[0].split("."))


def _is_above(first: Key, second: Key) -> bool:
    """Whether one key is the other, or above or below it."""
    return all(one == other for one, other in zip(first, second, strict=False))


def _is_referred(key: Key, references: Collection[tuple[str | int, ...]]) -> bool:
    return any(_is_above(tuple(map(str, other)), key) for other in references)


def _mapping_at(data: dict[str, Any], key: Key) -> dict[str, Any] | None:
    node: Any = data
    for part in key:
        node = node.get(part) if isinstance(node, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return node if isinstance(node, dict) else None  # pyright: ignore[reportUnknownVariableType]
