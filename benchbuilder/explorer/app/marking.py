"""Marks what a search found in a text, and cuts long texts around it."""

from __future__ import annotations

from typing import Any

import regex

_SECONDS = 0.2


def marked_pieces(text: str, query: Any = None, most: int = 320) -> list[tuple[str, bool]]:
    """The pieces of a text, each with whether the search `query` (of `q` and `re`) found it; at most `most` signs.

    >>> from types import SimpleNamespace
    >>> marked_pieces("abcabc", SimpleNamespace(q="b", re=""))
    [('a', False), ('b', True), ('ca', False), ('b', True), ('c', False)]
    """
    spans = _spans(text[:200_000], query) if query is not None and query.q else []
    first = spans[0][0] if spans else 0
    begin = 0 if first + 40 < most else first - most // 3
    end = min(len(text), begin + most)
    pieces: list[tuple[str, bool]] = [("…", False)] if begin else []
    at = begin
    for start, stop in spans:
        if start >= end:
            break
        pieces.append((text[at:start], False))
        at = min(stop, end)
        pieces.append((text[start:at], True))
    pieces.append((text[at:end] + ("…" if end < len(text) else ""), False))
    return [(piece, hit) for piece, hit in pieces if piece]


def _spans(text: str, query: Any) -> list[tuple[int, int]]:
    """Where the search found something; nothing for a pattern that takes too long here, or means something else."""
    if not query.re:
        spans: list[tuple[int, int]] = []
        at = text.find(query.q)
        while at >= 0 and len(spans) < 200:
            spans.append((at, at + len(query.q)))
            at = text.find(query.q, at + len(query.q))
        return spans
    try:
        return [hit.span() for hit in regex.finditer(query.q, text[:20_000], timeout=_SECONDS) if hit[0]][:200]
    except (regex.error, TimeoutError):
        return []
