"""Short forms of rows, outcomes and texts of models, safe to print."""

from __future__ import annotations

from typing import Any

from benchbuilder.core.records.outcomes import Dropped, Failed, Kept, Outcome
from benchbuilder.core.records.payloads import Payload
from benchbuilder.core.records.row import Row
from benchbuilder.core.text import invisible
from benchbuilder.core.text.lengths import truncate_code_points

_NOT_CONTENT = frozenset(Row.model_fields) | {"fact", "candidate"}
_KEPT_CONTROLS = frozenset({"\n", "\t"})


def printable_text(text: str) -> str:
    r"""`text` with a replacement character for every control character, so that no reply can control a terminal.

    >>> printable_text("a\x1b[2Jb")
    'a\ufffd[2Jb'
    """
    return invisible.replace_steering_characters(text, _KEPT_CONTROLS)


def count_phrase(number: int, noun: str) -> str:
    """A number of things.

    >>> count_phrase(1, "row"), count_phrase(1200, "row")
    ('1 row', '1200 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def row_text(row: Row) -> str:
    """The content of a row: its text after its context, or its fields."""
    text = getattr(row, "text", None)
    if isinstance(text, str):
        return str(getattr(row, "context", "")) + text
    payload: Any = getattr(row, "payload", None)
    if isinstance(payload, Payload):
        return text_fields_block(payload.flat_cells())
    return text_fields_block(row.model_dump(mode="json", exclude=set(_NOT_CONTENT)))


def text_fields_block(values: dict[str, Any]) -> str:
    """The fields with text, one per line.

    >>> text_fields_block({"question": "Why?", "context": "", "pairs": [{"a": "b"}]})
    'question: Why?'
    """
    return "\n".join(f"{name}: {value}" for name, value in values.items() if isinstance(value, str) and value)


def outcome_text(outcome: Outcome) -> str:
    """An outcome in one line: the text, or why there is none."""
    if isinstance(outcome, Kept):
        return row_text(outcome.row)
    if isinstance(outcome, Dropped):
        return f"dropped ({outcome.reason})" + (f": {outcome.detail}" if outcome.detail else "")
    if isinstance(outcome, Failed):
        return f"failed: {outcome.error}"
    return f"not applicable ({outcome.reason})"


def tail_excerpt(text: str, *, lines: int, characters: int) -> str:
    """The end of `text`, where a prompt states its subject, with a mark of how much was left out.

    >>> tail_excerpt("one, and this is so long\\ntwo\\nthree", lines=1, characters=20)
    '[... 29 characters] three'
    """
    end = "\n".join(text.splitlines()[-lines:])[-characters:]
    left = len(text) - len(end)
    mark = f"[... {left} characters]"
    return f"{mark} {end}" if left > len(mark) else text


def head_excerpt(text: str, characters: int) -> str:
    """The beginning of `text`, with a mark of how much was left out, unless the mark would be longer.

    >>> head_excerpt("a long text", 6), head_excerpt("a long text, of which most is left out", 6)
    ('a long text', 'a long [... 32 characters]')
    """
    left = len(text) - characters
    mark = f"[... {left} characters]"
    return f"{truncate_code_points(text, characters).rstrip()} {mark}" if left > len(mark) else text
