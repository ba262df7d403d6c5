"""Finds claims in the replies of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchbuilder.core import (
    Regex,
    matches_whole,
    normalise_space,
    parse_json,
    strip_reasoning,
    strip_reply_framing,
    truncate_text,
)
from benchbuilder.models import Reply
from benchbuilder.steps.language.claim_rules import ClaimRules, Proposal
from benchbuilder.steps.language.punctuation import end_with

NumberedProposal = tuple[int | None, Proposal]
"""A claim, and the number that the model gives it (``None``: it gives none)."""
_LONGEST_DATE = 40
_LONGEST_DETAIL = 120


def plain_reply(reply: Reply) -> str:
    """The text of a reply without reasoning, fences, bullets and labels."""
    return strip_reply_framing(strip_reasoning(reply.text) or "", (), ())


class ReplyReader:
    """Reads the replies of one step. `nothing` and the patterns `also_nothing` are replies that there is nothing."""

    def __init__(self, rules: ClaimRules, nothing: str, also_nothing: Sequence[Regex]) -> None:
        self._rules, self._nothing, self._also_nothing = rules, nothing, also_nothing

    def is_nothing(self, text: str) -> bool:
        """Whether the whole text says that there is nothing."""
        return text == self._nothing or any(matches_whole(pattern, text) for pattern in self._also_nothing)

    def proposals(self, reply: Reply) -> tuple[list[NumberedProposal], str, str]:
        """The claims in a reply; without any, the reason and its evidence ("" if there is nothing to claim)."""
        if reply.outcome in ("empty", "refused", "filtered"):
            return [], f"reply_{reply.outcome}", ""
        text = strip_reasoning(reply.text)
        if text is None:
            return [], "reply_unfinished", ""
        found = [(_number(entry), proposal) for entry in _json_objects(text) if (proposal := self._proposal(entry))]
        is_over = reply.outcome == "complete"
        if found or (is_over and (_is_empty_list(text) or self.is_nothing(plain_reply(reply).strip()))):
            return found, "", ""
        if reply.outcome in ("truncated", "thought_out"):
            return [], "reply_truncated", ""
        return [], "reply_malformed" if text else "reply_empty", truncate_text(text, _LONGEST_DETAIL)

    def _proposal(self, entry: Mapping[str, Any]) -> Proposal | None:
        """The claim of one JSON object; ``None`` if it lacks the claim or its quote."""
        claim, quote, as_of = (_valid_text(entry.get(name)) for name in ("claim", "quote", "as_of"))
        claim = normalise_space(strip_reply_framing(claim, (), ()))
        if not claim or not quote.strip():
            return None
        if claim[-1] not in (*self._rules.stops, *self._rules.soft_stops):
            claim = end_with(claim, self._rules.stop, self._rules.stop)
        date = normalise_space(as_of)
        return Proposal(claim, quote.strip(), date if len(date) <= _LONGEST_DATE else "")


def _valid_text(value: Any) -> str:
    """A text without halves of characters, which JSON may contain; "" for anything else."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _number(entry: Mapping[str, Any]) -> int | None:
    number = entry.get("number")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _is_empty_list(text: str) -> bool:
    """Whether a reply is one JSON object that has an empty list."""
    try:
        found: Any = parse_json(text)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("facts") == []  # pyright: ignore[reportUnknownMemberType]


def _json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in `text`, in order; an object with a list of objects stands for these."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        inner = [entry for value in found.values() if isinstance(value, list) for entry in value]
        yield from [found] if "claim" in found else [entry for entry in inner if isinstance(entry, dict)]
        start = text.find("{", end)
