"""Rows, fates and texts of models in few words, safe to print."""

from __future__ import annotations

from typing import Any

from benchbuilder.core.records.outcomes import Dropped, Failed, Fate, Kept
from benchbuilder.core.records.payloads import Payload
from benchbuilder.core.records.row import Row
from benchbuilder.core.text import invisible
from benchbuilder.core.text.lengths import cut

_ASIDE = frozenset(Row.model_fields) | {"fact", "candidate"}
_SPOKEN = frozenset({"\n", "\t"})


def harmless(text: str) -> str:
    r"""`text` with a replacement character for every control character, so that no reply can steer a terminal.

    >>> harmless("a\x1b[2Jb")
    'a\ufffd[2Jb'
    """
    return invisible.harmless(text, _SPOKEN)


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def row_text(row: Row) -> str:
    """What a row says: its text with the context before it, or its fields."""
    text = getattr(row, "text", None)
    if isinstance(text, str):
        return str(getattr(row, "context", "")) + text
    payload: Any = getattr(row, "payload", None)
    if isinstance(payload, Payload):
        return fields_text(payload.flat())
    return fields_text(row.model_dump(mode="json", exclude=set(_ASIDE)))


def fields_text(values: dict[str, Any]) -> str:
    """Fields that hold text, a line each.

    >>> fields_text({"question": "Why?", "context": "", "pairs": [{"a": "b"}]})
    'question: Why?'
    """
    return "\n".join(f"{name}: {value}" for name, value in values.items() if isinstance(value, str) and value)


def fate_text(fate: Fate) -> str:
    """A fate in a line: what was written, or why nothing was."""
    if isinstance(fate, Kept):
        return row_text(fate.row)
    if isinstance(fate, Dropped):
        return f"dropped ({fate.reason})" + (f": {fate.detail}" if fate.detail else "")
    if isinstance(fate, Failed):
        return f"failed: {fate.error}"
    return f"not applicable ({fate.reason})"


def shortened(text: str, *, lines: int, characters: int) -> str:
    """The end of `text`, where a prompt says what it is about, with a mark of how much was left out.

    >>> shortened("one, and this is so long\\ntwo\\nthree", lines=1, characters=20)
    '[... 29 characters] three'
    """
    end = "\n".join(text.splitlines()[-lines:])[-characters:]
    left = len(text) - len(end)
    mark = f"[... {left} characters]"
    return f"{mark} {end}" if left > len(mark) else text


def clipped(text: str, characters: int) -> str:
    """The beginning of `text`, with a mark of how much was left out, unless the mark would be longer than that.

    >>> clipped("a long text", 6), clipped("a long text, of which most is left out", 6)
    ('a long text', 'a long [... 32 characters]')
    """
    left = len(text) - characters
    mark = f"[... {left} characters]"
    return f"{cut(text, characters).rstrip()} {mark}" if left > len(mark) else text
