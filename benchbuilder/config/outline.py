"""Reads which keys a recipe has from its files alone, without composing it: quick enough for a shell's Tab key.

The files are taken as Hydra takes them: groups, packages, `override`. Values are not resolved and nothing is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core import parse_plain_yaml, read_given_text

_PRIMARY = "benchbuild"
_DEEPEST = 20
"""Files that start from each other end here."""
_PACKAGE = re.compile(r"^# @package (\S+)", re.MULTILINE)

Tree = dict[str, Any]


class RecipeOutline:
    """The keys that a recipe's files set, and the groups that the command line can choose from.

    `keys` is a tree of mappings; a value that is no mapping is as in the file: null for a
    step that is left out. `groups` are the groups in the
    order of the first file, then those of single keys (``model@steps.NAME.model``). A file that is missing or no YAML
    is left out.

    Args:
        roots: The folders of recipes, as `find_roots` gives them.
        words: ``recipe=NAME key=value ...`` as far as it is written.
    """

    def __init__(self, roots: Sequence[Path], words: Sequence[str]) -> None:
        self._roots = roots
        pairs = (word.partition("=") for word in words)
        self._given = {name.lstrip("+"): _read_choice(value) for name, sign, value in pairs if sign}
        self.groups: list[str] = []
        self.keys: Tree = {}
        recipe = self._given.get("recipe")
        self.recipe = recipe if isinstance(recipe, str) else ""
        self._chosen: dict[str, Any] = dict(self._given)
        if isinstance(variant := self._given.get("variant"), str):
            self._chosen["variant"] = f"{self.recipe}/{variant}"
            self._note_overrides(f"variant/{self.recipe}/{variant}")
        self._note_overrides(f"recipe/{self.recipe}")
        self._include(_PRIMARY, "")

    def options(self, group: str) -> list[str]:
        """The names that a group has; of `variant`, those of the recipe."""
        name = group.partition("@")[0]
        folder = f"variant/{self.recipe}" if name == "variant" else name
        return sorted({path.stem for root in self._roots for path in (root / folder).glob("*.yaml")})

    def _read(self, name: str) -> tuple[Tree, str]:
        """The mapping of a file, and the package that its header names."""
        for root in self._roots:
            path = root / f"{name}.yaml"
            if not path.is_file():
                continue
            try:
                text = read_given_text(path)
                content = parse_plain_yaml(text)
            except (OSError, ValueError, yaml.YAMLError):
                continue
            header = _PACKAGE.search(text)
            package = header[1] if header else name.rpartition("/")[0].replace("/", ".")
            return content if isinstance(content, dict) else {}, "" if package == "_global_" else package
        return {}, ""

    def _note_overrides(self, name: str, depth: int = 0) -> None:
        """Note what a file and those that it starts from choose; what an outer file chooses counts."""
        content, package = self._read(name)
        self._choose(content, name, package)
        for group, choice, overrides in _defaults(content, name, package):
            if group == name.rpartition("/")[0] and not overrides and isinstance(choice, str) and depth < _DEEPEST:
                self._note_overrides(f"{group}/{choice}", depth + 1)

    def _choose(self, content: Tree, name: str, package: str) -> None:
        for group, choice, overrides in _defaults(content, name, package):
            if overrides:
                self._chosen.setdefault(group, choice)

    def _include(self, name: str, package: str | None, depth: int = 0) -> None:
        """Add the keys of a file and of what it starts from, below a package or that of its header."""
        content, own = self._read(name)
        package = own if package is None else package
        self._choose(content, name, package)
        for group, choice, overrides in _defaults(content, name, package):
            if overrides or depth > _DEEPEST:
                continue
            same_folder = group == name.rpartition("/")[0]
            if not same_folder and (depth == 0 or "@" in group) and group not in self.groups:
                self.groups.append(group)
            chosen = choice if same_folder else self._chosen.get(group, choice)
            folder, at, place = group.partition("@")
            for option in chosen if isinstance(chosen, list) else [chosen]:
                if isinstance(option, str):
                    below = package if same_folder else place if at else None
                    self._include(f"{folder}/{option}" if folder else option, below, depth + 1)
        here = self.keys
        for part in filter(None, package.split(".")):
            if not isinstance(here.get(part), dict):
                here[part] = {}
            here = here[part]
        _merge(here, {key: value for key, value in content.items() if key != "defaults"})


def _defaults(content: Mapping[str, Any], name: str, package: str) -> Iterator[tuple[str, Any, bool]]:
    """The entries of a defaults list: the group, with its package if one is named; the choice; whether it overrides."""
    entries = content.get("defaults")
    folder = name.rpartition("/")[0]
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, str) and entry != "_self_":
            option, at, place = entry.partition("@")
            yield f"{folder}@{_join(package, place)}" if at else folder, option, False
        elif isinstance(entry, dict):
            for key, choice in entry.items():
                words = str(key).split()
                group, at, place = words[-1].partition("@")
                path = f"{folder}/{group}" if folder and not group.startswith("/") else group.removeprefix("/")
                yield f"{path}@{_join(package, place)}" if at else path, choice, "override" in words


def _join(package: str, place: str) -> str:
    if place == "_here_":
        return package
    if place.startswith("_global_"):
        return place.removeprefix("_global_").strip(".")
    return f"{package}.{place}" if package else place


def _read_choice(text: str) -> Any:
    """What is chosen: a name, or a list of names."""
    if text.startswith("["):
        return [part.strip() for part in text.strip("[]").split(",")]
    return text


def _merge(into: Tree, more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            if not isinstance(into.get(key), dict):
                into[key] = {}
            _merge(into[key], value)
        else:
            into[str(key)] = value
