"""The plural category of a number in a language, from a table of rules."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

PLURAL_CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""The categories of Unicode CLDR; every language has ``other``."""
_RELATION = re.compile(r"n(?: % (\d+))? (!?=) (\d+)(?:\.\.(\d+))?")
_DEFAULT = {"one": "n = 1"}


def plural_category(language: str, number: int) -> str:
    """The category that chooses the form of a text with `number`.

    >>> [plural_category("en", n) for n in (0, 1, 2)], plural_category("zh-CN", 1)
    (['other', 'one', 'other'], 'other')
    >>> [plural_category("ru", n) for n in (1, 3, 11, 22)], plural_category("ar", 2)
    (['one', 'few', 'many', 'few'], 'two')
    """
    rules = _rules().get(language.partition("-")[0], _DEFAULT)
    return next((category for category, rule in rules.items() if _holds(rule, number)), "other")


def _holds(rule: str, number: int) -> bool:
    return any(all(_is_true(part, number) for part in option.split(" and ")) for option in rule.split(" or "))


def _is_true(relation: str, number: int) -> bool:
    match = _RELATION.fullmatch(relation)
    if match is None:
        raise ValueError(f"no rule of plurals: {relation!r}")
    value = number % int(match[1]) if match[1] else number
    return (int(match[3]) <= value <= int(match[4] or match[3])) == (match[2] == "=")


@cache
def _rules() -> dict[str, dict[str, str]]:
    text = files("benchbuilder.core.text").joinpath("plural_rules.yaml").read_text(encoding="utf-8")
    groups: list[dict[str, Any]] = yaml.safe_load(text)
    return {
        language: {category: group[category] for category in PLURAL_CATEGORIES if category in group}
        for group in groups
        for language in group["languages"]
    }
