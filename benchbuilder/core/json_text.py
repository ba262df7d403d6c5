"""JSON from a file or a service, whose damage is one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

TOO_DEEP = "its lists and objects are nested too deeply"


def parse_json(text: str | bytes, *, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text; ValueError if it is none, or is nested more deeply than Python reads."""
    try:
        return json.loads(text, object_pairs_hook=object_pairs_hook)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
