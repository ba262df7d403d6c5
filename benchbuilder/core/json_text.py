"""JSON from a file or a service, whose damage is one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchbuilder.core.special_files import read_given_text

TOO_DEEP = "its lists and objects are nested too deeply"


def parse_json(text: str | bytes, *, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text; ValueError if it is none, or is nested more deeply than Python reads."""
    try:
        return json.loads(text, object_pairs_hook=object_pairs_hook)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error


def read_json(path: Path) -> Any:
    """The value of a file of JSON in UTF-8; the errors are those of `read_given_text` and `parse_json`."""
    return parse_json(read_given_text(path))


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with the members `pairs`; ValueError if a name occurs twice: nobody knows which member is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:40]!r} occurs twice in one object")
    return found
