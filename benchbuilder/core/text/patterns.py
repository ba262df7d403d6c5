"""Patterns of a recipe: checked when read, run with a time limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Annotated, Any

import regex
from pydantic import AfterValidator

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.row import Span
from benchbuilder.core.text.pattern_limits import SHORT_TEXT, pattern_cost

TIMEOUT_S = 2.0
"""Most seconds that one pattern may take on one text."""

_FEW_PATHS = 1 << 14
"""A pattern with so few ways to match ends soon on a short text: there it runs without a clock, which takes longer."""
_TIMED = {"timeout": TIMEOUT_S}
_SHOWN = 80
"""Most characters of a pattern that a message shows."""

TokeniseText = Callable[[str], list[str]]


def check_regex(pattern: str) -> str:
    """`pattern` itself; ValueError if it is not a regular expression, or one that may never end."""
    try:
        _compiled(pattern)
    except _TooCostly as error:
        start = max(error.position - 20, 0)
        place = f"at character {error.position + 1} ({pattern[start : error.position + 20]!r})"
        raise ValueError(f"this pattern is refused, because {error.reason}, {place}") from error
    except (regex.error, RecursionError) as error:
        shown = pattern_excerpt(pattern, getattr(error, "pos", None) or 0)
        raise ValueError(f"{shown!r} is not a regular expression: {error}") from error
    return pattern


def pattern_excerpt(pattern: str, position: int = 0) -> str:
    """The part of `pattern` around `position` (from 0) that a message can show; a short one whole.

    >>> pattern_excerpt("[0-9]+"), pattern_excerpt("a|" * 500, 600).count("a|")
    ('[0-9]+', 40)
    """
    if len(pattern) <= _SHOWN:
        return pattern
    start = min(max(position - _SHOWN // 2, 0), len(pattern) - _SHOWN)
    end = start + _SHOWN
    return f"{'... ' if start else ''}{pattern[start:end]}{' ...' if end < len(pattern) else ''}"


Regex = Annotated[str, AfterValidator(check_regex)]
"""A field of a spec that holds a regular expression (syntax of the package `regex`)."""


class _TooCostly(Exception):
    """A pattern that no time limit would hold."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason, self.position = reason, position


@cache
def _compiled(pattern: str) -> tuple[Any, int]:
    """The compiled pattern, and the length of the texts on which it needs no time limit: it has few ways to match."""
    cost = pattern_cost(pattern)
    if cost.refusal is not None:
        raise _TooCostly(*cost.refusal)
    return regex.compile(pattern), SHORT_TEXT if cost.paths <= _FEW_PATHS else -1


def find_all(pattern: str, text: str) -> list[Span]:
    """Where the regular expression `pattern` matches, left to right; DataError if it takes too long.

    >>> find_all("[0-9]+", "a 12 b 3")
    [Span(start=2, end=4), Span(start=7, end=8)]
    """
    return [Span(start=start, end=end) for start, end in _run(pattern, text, _spans)]


def match_count(pattern: str, text: str) -> int:
    """How often the regular expression `pattern` matches in `text`; DataError if it takes too long.

    >>> match_count("[0-9]+", "a 12 b 3")
    2
    """
    return len(_run(pattern, text, _spans))


def has_match(pattern: str, text: str) -> bool:
    """Whether `pattern` matches anywhere in `text`, found sooner than all matches; DataError if it takes too long.

    >>> has_match("[0-9]+", "a 12 b 3"), has_match("[0-9]+", "a")
    (True, False)
    """
    return _run(pattern, text, _search) is not None


def matches_whole(pattern: str, text: str) -> bool:
    """Whether `pattern` matches the whole of `text`; DataError if it takes too long.

    >>> matches_whole("[0-9]*", "12"), matches_whole("[0-9]*", "12 b")
    (True, False)
    """
    return has_match(rf"\A(?:{pattern})\Z", text)


def match_groups(pattern: str, text: str) -> dict[str, str] | None:
    """The named groups of `pattern` if it matches the whole `text`, else ``None``; DataError if it takes too long.

    >>> match_groups("(?P<n>[0-9]+) b", "12 b"), match_groups("a", "b")
    ({'n': '12'}, None)
    """
    spans = match_group_spans(pattern, text)
    return None if spans is None else {name: group for name, (group, _) in spans.items()}


def may_begin_match(pattern: str, text: str) -> bool:
    """Whether `pattern` matches the whole of `text`, or may match a longer text that begins with it.

    DataError if it takes too long.

    >>> may_begin_match("this is wrong", "this is"), may_begin_match("this is wrong", "that is")
    (True, False)
    """
    return bool(_run(pattern, text, lambda compiled, text, limit: compiled.fullmatch(text, partial=True, **limit)))


def match_group_spans(pattern: str, text: str) -> dict[str, tuple[str, int]] | None:
    """The named groups of `pattern` with their positions, if it matches the whole `text`; else ``None``.

    A group that takes no part is empty, at -1. DataError if it takes too long.

    >>> match_group_spans("(?P<a>x)?(?P<n>[0-9]+)", "12")
    {'a': ('', -1), 'n': ('12', 0)}
    """
    match = _run(pattern, text, _match_whole)
    return None if match is None else {name: (match[name] or "", match.start(name)) for name in match.groupdict()}


def group_names(pattern: str) -> tuple[str, ...]:
    """The names of the groups of `pattern`.

    >>> group_names("(?P<n>[0-9]+) (?P<unit>b)")
    ('n', 'unit')
    """
    return tuple(_compiled(pattern)[0].groupindex)


def replace_all(pattern: str, replacement: str, text: str) -> str:
    """`text` with every match replaced by `replacement` (with group references); DataError if it takes too long.

    >>> replace_all(r"(a)b", r"\\1", "abab")
    'aa'
    """
    return _run(pattern, text, lambda compiled, text, limit: compiled.sub(replacement, text, **limit))


def _spans(compiled: Any, text: str, limit: dict[str, float]) -> list[tuple[int, int]]:
    return [match.span() for match in compiled.finditer(text, **limit)]


def _search(compiled: Any, text: str, limit: dict[str, float]) -> Any:
    return compiled.search(text, **limit)


def _match_whole(compiled: Any, text: str, limit: dict[str, float]) -> Any:
    return compiled.fullmatch(text, **limit)


def _run(pattern: str, text: str, match: Callable[[Any, str, dict[str, float]], Any]) -> Any:
    """The result of `match` for the compiled pattern, a text and a time limit; DataError if it takes too long."""
    try:
        compiled, untimed = _compiled(pattern)
        return match(compiled, text, {} if len(text) <= untimed else _TIMED)
    except _TooCostly as error:
        why = f"{error.reason}; patterns that a recipe gives are put together"
        next = "make the patterns in the recipe shorter, or lower their counts"
        raise DataError(
            f"the pattern {pattern_excerpt(pattern)!r} is refused", where=repr(text[:80]), why=why, next=next
        ) from error
    except TimeoutError as error:
        raise DataError(
            f"the pattern {pattern_excerpt(pattern)!r} took longer than {TIMEOUT_S:g} s on one text",
            where=repr(text[:80]),
            why="a pattern with nested repetition can need exponential time",
            next="rewrite the pattern in the recipe without a repetition inside another",
        ) from error


def find_substring(word: str, text: str) -> list[Span]:
    """Every occurrence of `word` in `text`, overlaps included.

    >>> [span.start for span in find_substring("aa", "aaa")]
    [0, 1]
    """
    spans: list[Span] = []
    at = text.find(word) if word else -1
    while at >= 0:
        spans.append(Span(start=at, end=at + len(word)))
        at = text.find(word, at + 1)
    return spans


def word_boundaries(text: str, tokens: Iterable[str]) -> frozenset[int]:
    """The positions in `text` where a token begins or ends; `tokens` are in order, white space may be missing.

    >>> sorted(word_boundaries("a bc", ["a", "bc"]))
    [0, 1, 2, 4]
    """
    cuts: set[int] = set()
    at = 0
    for token in tokens:
        start = text.find(token, at)
        if start < 0:
            continue
        at = start + len(token)
        cuts.update((start, at))
    return frozenset(cuts)
