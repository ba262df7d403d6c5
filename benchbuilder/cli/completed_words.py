"""What may stand for the last word of a command line that is being written, from tables and names of files alone.

A shell asks at every press of Tab, so nothing is composed, and little is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbuilder.config import RecipeOutline, find_roots
from benchbuilder.core import BenchbuilderError, parse_json

_TABLE = Path(__file__).with_name("completion_table.json")
"""Commands with their arguments, and the keys of recipes; written by ``docs/generate.py``."""
_LETTERS = {"-n": "--rows"}


def complete_words(words: Sequence[str]) -> list[str]:
    """What may stand in place of the last of `words`; each begins with it. None: the shell offers files.

    Args:
        words: The words after ``benchbuild``, the last unfinished, perhaps empty.
    """
    *before, current = words or [""]
    quote = current[:1] if current[:1] in ("'", '"') else ""
    before = [word.strip("'\"") for word in before]
    table: dict[str, Any] = parse_json(_TABLE.read_text(encoding="utf-8"))
    try:
        found = _UnfinishedCommand(before, current.removeprefix(quote), table).completions()
    except BenchbuilderError:  # a folder of recipes that cannot be used: the command itself says so
        return []
    return [f"{quote}{word}" for word in dict.fromkeys(found)]


def _have_packages_recipes() -> bool:
    """Whether an installed package names a folder of recipes; the library for this takes longer than all else here."""
    files = (file for folder in sys.path for file in Path(folder).glob("*.dist-info/entry_points.txt"))
    return any(b"[benchbuilder.recipes]" in file.read_bytes() for file in files)


@dataclass
class _UnfinishedCommand:
    """A line as far as it is written: the finished words, the unfinished one, and the table."""

    before: Sequence[str]
    current: str
    table: Mapping[str, Any]

    def completions(self) -> list[str]:
        """What may stand in place of the unfinished word."""
        commands: Mapping[str, Any] = self.table["commands"]
        named = next((word for word in self.before[:1] if word in commands), "")
        command = commands[named or "build"]
        flags: Mapping[str, Any] = command["flags"]
        if self.before and flags.get(self.before[-1]) is not None:
            return self._starting(self._named(flags[self.before[-1]]))
        if self.current.startswith("-"):
            return self._starting([*flags, "--help", *(() if named else ("--version",))])
        if "=" in self.current:
            return self._values(command) if command["overrides"] else []
        found = self._plain_words(command, named)
        if command["overrides"]:
            found += [f"{name}=" for name in (*command["own"], *self._outline.groups)] + self._keys()
        first = [] if self.before else self._starting([*commands, "recipe="])
        return first or self._starting(found)

    def _starting(self, names: Any) -> list[str]:
        return [name for name in names if name.startswith(self.current)]

    def _plain_words(self, command: Mapping[str, Any], named: str) -> list[str]:
        """What may stand for the next word that is neither a flag nor an override."""
        flags, given = command["flags"], 0
        for earlier, word in zip(["", *self.before], self.before, strict=False):
            is_value = flags.get(_LETTERS.get(earlier, earlier)) is not None
            given += not (is_value or word.startswith("-") or "=" in word or word == named)
        wanted = command["words"][given : given + 1]
        return self._named(wanted[0]) if wanted else []

    def _named(self, meant: Any) -> list[str]:
        """What a word of the usage stands for: some words, commands, steps, recipes; none where it may be anything."""
        if isinstance(meant, list):
            return meant
        if meant == "COMMAND":
            return ["all", *self.table["commands"]]
        if meant == "STEP":
            return [name for part in ("sources", "steps") for name, node in self._node(part).items() if node]
        return self._outline.options("recipe") if meant == "RECIPE" else []

    @cached_property
    def _outline(self) -> RecipeOutline:
        asked = [word for flag, word in zip(self.before, self.before[1:], strict=False) if flag == "--recipes"]
        roots = find_roots(asked, packages=_have_packages_recipes())
        return RecipeOutline([root.path for root in roots], self.before)

    def _values(self, command: Mapping[str, Any]) -> list[str]:
        """Completions of ``key=start``; in ``key=[a,start`` of the last name."""
        key, _, start = self.current.partition("=")
        key = key.lstrip("+")
        head, bracket, _ = start.rpartition("," if "," in start else "[")
        taken = set(head.strip("[").split(","))
        if key in command["own"]:
            values = command["own"][key]
        elif key in self._outline.groups:
            values = self._outline.options(key)
        else:
            values = self._type_of(key).removeprefix("=").split("|") if self._type_of(key).startswith("=") else []
        front = self.current[: len(self.current) - len(start)] + head + bracket
        return [front + value for value in values if value not in taken and (front + value).startswith(self.current)]

    def _keys(self) -> list[str]:
        """The next part of a key: ``steps.``, ``steps.NAME.``, ``steps.NAME.key=``."""
        sign = "+" if self.current.startswith("+") else ""
        place, dot, _ = self.current.removeprefix(sign).rpartition(".")
        types = self._types_below(place)
        names = {**types, **dict.fromkeys(self._node(place), "")}
        found = list[str]()
        for name in names:
            path = f"{place}{dot}{name}"
            nested = bool(self._node(path)) or types.get(name, "")[:1] in (".", "*")
            found.append(f"{sign}{path}{'.' if nested else '='}")
        return found

    def _node(self, path: str) -> Mapping[str, Any]:
        """The mapping that the recipe's files have at a key."""
        node: Any = self._outline.keys
        for part in filter(None, path.split(".")):
            node = node.get(part) if isinstance(node, dict) else None
        return node if isinstance(node, dict) else {}

    def _type_of(self, path: str) -> str:
        """The type of a key, as the table writes it."""
        place, _, name = path.rpartition(".")
        if not place:
            return self.table["keys"][""].get(name, "")
        above = self._type_of(place)
        return above[1:] if above.startswith("*") else self._types_below(place).get(name, "")

    def _types_below(self, path: str) -> Mapping[str, str]:
        """The types of the keys below a key; those of a node are told by its kind."""
        keys: Mapping[str, Mapping[str, str]] = self.table["keys"]
        if not path:
            return keys[""]
        name = self._type_of(path)
        if not name.startswith("."):
            return {}
        kind = self._node(path).get("kind")
        own = keys.get(name[1:], {})
        return {**keys.get(f"{name[1:]}.{kind}", {}), **own}
