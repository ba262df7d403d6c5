"""Refuses regular expressions whose compilation or search no time limit would end."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LENGTH = 100_000
"""Most characters of a pattern."""
MAX_COPIES = 200_000
"""Most single characters, classes and escapes of a pattern, each counted as often as it may be repeated."""
_MAX_DEPTH = 60

_COUNT = re.compile(r"\{\s*(\d*)\s*(?:(,)\s*(\d*)\s*)?\}")
_FUZZY = re.compile(r"\{[\d\s<=+,]*[eids][\d\s<=+,eids]*(?::[^}]*)?\}")
_ESCAPE = re.compile(r"\\(?:[pPN]\{[^}]*\}|[gL]<[^>]*>|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:[^\]]{0,40}:\]|[^\]\\])*\]", re.DOTALL)
_CALL = re.compile(r"\(\?(?:R|[+-]?\d+|&[^)]*|P[>&][^)]*)\)")
_COMMENT = re.compile(r"\(\?#[^)]*\)")
_FLAGS = re.compile(r"\(\?([A-Za-z0-9]*(?:-[A-Za-z0-9]+)?)([:)])")
_OPEN = re.compile(r"\((?:\?(?:P?<[A-Za-z_]\w*>|<?[=!]|[>|:]|\([^)]*\)))?")
_PLAIN_FLAGS = frozenset("aimsu-")


@dataclass
class _Level:
    """An open group: the copies in it so far, and those of its last part."""

    total: int = 0
    last: int = 0

    def add(self, copies: int) -> None:
        self.total, self.last = self.total + copies, copies


def costly_construct(pattern: str) -> tuple[str, int] | None:
    """Why a pattern is refused, and the position (from 0); ``None`` if it may be compiled.

    Refused are fuzzy matches, recursion, flags that change the syntax or the search, and nested counts that multiply to
    more than `MAX_COPIES`. A pattern that is wrong otherwise is left to the library.

    >>> costly_construct("(?:a{2,5} b)+"), costly_construct("(?:a{1000}){1000}")
    (None, ('its counted repetitions multiply to more than 200000', 11))
    >>> costly_construct("(?:abc){e<=2}"), costly_construct("(?b)a")
    (('it has a fuzzy match', 7), ('it sets the flags b', 0))
    """
    if len(pattern) > MAX_LENGTH:
        return f"it has more than {MAX_LENGTH} characters", MAX_LENGTH
    at, levels = 0, [_Level()]
    while at < len(pattern):
        if refused := _refused_at(pattern, at):
            return refused, at
        end = _read_part(pattern, at, levels)
        if levels[0].total > MAX_COPIES or levels[-1].total > MAX_COPIES:
            return f"its counted repetitions multiply to more than {MAX_COPIES}", at
        if len(levels) > _MAX_DEPTH:
            return f"its groups are nested more than {_MAX_DEPTH} deep", at
        at = end
    return None


def _refused_at(pattern: str, at: int) -> str:
    if pattern[at] == "{" and _FUZZY.match(pattern, at):
        return "it has a fuzzy match"
    if pattern[at] != "(":
        return ""
    if _CALL.match(pattern, at):
        return "it calls itself or a group"
    flags = _FLAGS.match(pattern, at)
    if flags is not None and set(flags[1].replace("V0", "")) - _PLAIN_FLAGS:
        return f"it sets the flags {flags[1]}"
    return ""


def _read_part(pattern: str, at: int, levels: list[_Level]) -> int:
    """Count the part of the pattern at a position; the position after it."""
    level, sign = levels[-1], pattern[at]
    if sign == "(":
        if comment := _COMMENT.match(pattern, at):
            return comment.end()
        if (flags := _FLAGS.match(pattern, at)) is not None:
            if flags[2] == ":":
                levels.append(_Level())
            return flags.end()
        opened = _OPEN.match(pattern, at)
        levels.append(_Level())
        return opened.end() if opened else at + 1
    if sign == ")":
        if len(levels) > 1:
            levels.pop()
            levels[-1].add(max(level.total, 1))
        return at + 1
    if sign == "{" and (count := _COUNT.match(pattern, at)) is not None and (count[1] or count[2]):
        times = max(int(number[:12]) for number in (count[1] or "0", count[3] or "0"))
        level.total += level.last * (max(times, 1) - 1)
        level.last *= max(times, 1)
        return count.end()
    if sign not in "|*+?":
        level.add(1)
    found = _ESCAPE.match(pattern, at) if sign == "\\" else _CLASS.match(pattern, at) if sign == "[" else None
    if sign == "[" and found is None:  # a class without an end, of which the library tells
        return len(pattern)
    return found.end() if found else at + 1
