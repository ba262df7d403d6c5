"""The table that shell completion reads: commands with their arguments, and the keys of recipes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from benchbuilder.cli.command_line import command_parser
from benchbuilder.cli.commands import COMMANDS
from benchbuilder.config import recipe_schema
from benchbuilder.core import SLOTS, kinds_of_slot
from benchbuilder.publishing import HARNESSES

OWN_WORDS = {
    "export": {"to": ["all", *HARNESSES]},
    "finetune": {"judge": []},
    "preview": {"n": []},
    "compare": {"n": []},
    "release": {"version": []},
    "score": {"version": []},
}
"""Words of the form ``key=value`` that are arguments of a command, not keys of a recipe; with their values."""


def completion_table() -> str:
    """JSON with one line for each command and each class of keys."""
    schema = recipe_schema()
    definitions: dict[str, Any] = schema["$defs"]
    foreign = {f"{slot}.{name}" for slot in SLOTS for name, kind in kinds_of_slot(slot).items()
               if kind.distribution != "benchbuilder"}  # fmt: skip
    keys = {"": _keys(schema)} | {name: _keys(node) for name, node in definitions.items() if name not in foreign}
    commands = {name: _command(name) for name in COMMANDS}
    parts = ",\n".join(
        f'"{title}": {{\n{_lines(table)}\n}}' for title, table in (("commands", commands), ("keys", keys))
    )
    return f"{{{parts}}}\n"


def _lines(table: dict[str, Any]) -> str:
    shown = ((name, json.dumps(value, ensure_ascii=False, separators=(",", ":"))) for name, value in table.items())
    return ",\n".join(f'"{name}":{value}' for name, value in shown)


def _command(name: str) -> dict[str, Any]:
    """The flags of a command with what follows each, its words in their order, and whether it takes overrides."""
    declared = command_parser(name, COMMANDS[name])._actions
    actions = [action for action in declared if action.dest not in ("help", "overrides")]
    flags = {flag: _value(action) for action in actions for flag in action.option_strings if flag.startswith("--")}
    words = [_value(action) for action in actions if not action.option_strings]
    takes = any(action.dest == "overrides" for action in declared)
    return {"flags": flags, "words": words, "overrides": takes, "own": OWN_WORDS.get(name, {})}


def _value(action: argparse.Action) -> Any:
    """What follows a flag: nothing, one of some words, or the name of what is meant."""
    if action.option_strings and action.nargs == 0:
        return None
    return [str(choice) for choice in action.choices] if action.choices else str(action.metavar or action.dest.upper())


def _keys(node: dict[str, Any]) -> dict[str, str]:
    """The keys of an object: ``CLASS`` after a dot has keys of its own, ``*`` stands for any name, ``=`` for values."""
    return {name: _kind(value) for name, value in node.get("properties", {}).items() if name != "defaults"}


def _kind(schema: dict[str, Any]) -> str:
    values = list[str]()
    for part in _parts(schema):
        if "$ref" in part:
            return "." + part["$ref"].rpartition("/")[2]
        if isinstance(below := part.get("additionalProperties"), dict):
            return "*" + _kind(below)
        values += part.get("enum", []) or [part["const"]] if "const" in part or "enum" in part else []
        values += ["true", "false"] if part.get("type") == "boolean" else []
    return "=" + "|".join(filter(None, map(str, values))) if any(values) else ""


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in schema.get("anyOf", ()):
        yield from _parts(part)
