"""Reads what a model says of the numbered parts of an answer, and checks each quote."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

from benchbuilder.core import ClaimVerdict, PartKind, Span, Stance, find_quote, parse_json, unique_object
from benchbuilder.evaluation.judges.base import Case

_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n```\Z", re.DOTALL)
_KINDS, _VERDICTS, _STANCES = get_args(PartKind), get_args(ClaimVerdict)[:3], get_args(Stance)
_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "n": {"type": "integer"},
    "kind": {"enum": list(_KINDS)},
    "verdict": {"enum": list(_VERDICTS)},
    "paragraph": {"type": ["integer", "null"]},
    "quote": {"type": "string"},
    "a": {"enum": list(_STANCES)},
    "b": {"enum": list(_STANCES)},
    "taken_back_by": {"type": ["integer", "null"]},
}
_PART = {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False}
PARTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"parts": {"type": "array", "items": _PART}},
    "required": ["parts"],
    "additionalProperties": False,
}
"""The form of a reply: one object with a part for each number; services that keep to a schema want every field."""


@dataclass(frozen=True, slots=True)
class SaidPart:
    """What a model says of one part; `fault` is why it does not hold, empty if it does."""

    kind: PartKind = "claim"
    verdict: ClaimVerdict = ""
    quote: tuple[int, int, int] | None = None
    a: Stance = "none"
    b: Stance = "none"
    taken_back_by: int | None = None
    fault: str = ""


def read_parts(text: str, wanted: Collection[int], last: int, case: Case) -> dict[int, SaidPart] | None:
    """The parts of a reply that is one object, by number; ``None`` for any other reply.

    A longer text is not searched, because a model may repeat an answer that holds such an object. A number that is
    missing, or occurs twice, has the fault ``part_missing``. `last` is the number of the answer's last part.
    """
    body = text.strip()
    if (fenced := _FENCE.match(body)) is not None:
        body = fenced[1].strip()
    try:
        data: Any = parse_json(body, object_pairs_hook=unique_object)
    except ValueError:
        return None
    lines: Any = data.get("parts") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if not isinstance(lines, list):
        return None
    by_number: dict[int, list[Mapping[str, Any]]] = {number: [] for number in wanted}
    for line in lines:  # pyright: ignore[reportUnknownVariableType]
        number: Any = line.get("n") if isinstance(line, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(number, int) and number in by_number:
            by_number[number].append(line)  # pyright: ignore[reportUnknownArgumentType]
    return {number: _part(found, number, last, case) for number, found in by_number.items()}


def _part(found: Sequence[Mapping[str, Any]], number: int, last: int, case: Case) -> SaidPart:
    if len(found) != 1:
        return SaidPart(fault="part_missing")
    (line,) = found
    kind, verdict, a, b = cast("tuple[Any, ...]", tuple(line.get(name) for name in ("kind", "verdict", "a", "b")))
    if kind not in _KINDS:
        return SaidPart(fault="part_malformed")
    if kind != "claim":
        return SaidPart(kind)
    if verdict not in _VERDICTS or a not in _STANCES or b not in _STANCES:
        return SaidPart(fault="part_malformed")
    by: Any = line.get("taken_back_by")
    taken_back_by = by if isinstance(by, int) and not isinstance(by, bool) and number < by <= last else None
    if verdict == "not_addressed":
        return SaidPart(kind, verdict, None, a, b, taken_back_by)
    place: Any = line.get("paragraph")
    span = _quoted(line.get("quote"), place, case)
    if span is None:
        return SaidPart(kind, "not_addressed", None, a, b, taken_back_by, "quote_not_found")
    return SaidPart(kind, verdict, (place - 1, span.start, span.end), a, b, taken_back_by)


def _quoted(quote: Any, place: Any, case: Case) -> Span | None:
    """Where a paragraph, counted from 1, says the quote."""
    if not isinstance(quote, str) or not isinstance(place, int) or not 1 <= place <= len(case.evidence):
        return None
    return find_quote(quote, case.evidence[place - 1])
