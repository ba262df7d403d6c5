"""Refuses regular expressions whose compilation or search no time limit would end."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LENGTH = 100_000
"""Most characters of a pattern."""
MAX_COPIES = 200_000
"""Most single characters, classes and escapes of a pattern, each counted as often as it may be repeated."""
SHORT_TEXT = 64
"""A text of up to so many characters is short."""
MANY_PATHS = 1 << 40
_MAX_DEPTH = 60
_MOST_MULTIPLIED = 40

_COUNT = re.compile(r"\{\s*(\d*)\s*(?:(,)\s*(\d*)\s*)?\}")
_FUZZY = re.compile(r"\{[\d\s<=+,]*[eids][\d\s<=+,eids]*(?::[^}]*)?\}")
_ESCAPE = re.compile(r"\\(?:[pPN]\{[^}]*\}|[gL]<[^>]*>|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:[^\]]{0,40}:\]|[^\]\\])*\]", re.DOTALL)
_CALL = re.compile(r"\(\?(?:R|[+-]?\d+|&[^)]*|P[>&][^)]*)\)")
_COMMENT = re.compile(r"\(\?#[^)]*\)")
_FLAGS = re.compile(r"\(\?([A-Za-z0-9]*(?:-[A-Za-z0-9]+)?)([:)])")
_OPEN = re.compile(r"\((?:\?(?:P?<[A-Za-z_]\w*>|<?[=!]|[>|:]|\([^)]*\)))?")
_PLAIN_FLAGS = frozenset("aimsu-")


@dataclass(frozen=True, slots=True)
class PatternCost:
    """What a pattern may cost: why it is refused and the position (from 0), and a bound for its search.

    `paths` bounds the ways in which it can match from one place of a text of up to `SHORT_TEXT` characters. They are at
    most `MANY_PATHS`, which stands for all greater numbers too.
    """

    refusal: tuple[str, int] | None = None
    paths: int = MANY_PATHS


@dataclass
class _Level:
    """An open group: its copies so far, those of its last part, and the ways through both.

    `finished` counts the ways through the alternatives before, `before` those through the parts of this one.
    """

    total: int = 0
    last: int = 0
    finished: int = 0
    before: int = 1
    paths: int = 1
    counted: bool = False

    def add(self, copies: int, paths: int = 1) -> None:
        self.total, self.last = self.total + copies, copies
        self.before, self.paths, self.counted = min(self.before * self.paths, MANY_PATHS), paths, False

    def repeat(self, least: int, most: int | None) -> None:
        """The last part occurs so often; a sign that only makes a repetition lazy or possessive adds nothing."""
        if self.counted:
            return
        self.counted = True
        if self.paths == 1:
            self.paths = SHORT_TEXT + 1 if most is None else min(most - least + 1, SHORT_TEXT + 1)
        elif most is None or most > _MOST_MULTIPLIED:
            self.paths = MANY_PATHS
        else:
            self.paths = min(sum(self.paths**times for times in range(least, most + 1)), MANY_PATHS)

    def ways(self) -> int:
        return min(self.finished + self.before * self.paths, MANY_PATHS)

    def end_alternative(self) -> None:
        self.finished, self.before, self.paths, self.counted = self.ways(), 1, 1, True


def pattern_cost(pattern: str) -> PatternCost:
    """Whether a pattern is refused, and how many ways it has to match.

    Refused are fuzzy matches, recursion, flags that change the syntax or the search, and nested counts that multiply to
    more than `MAX_COPIES`. A pattern that is wrong otherwise is left to the library.

    >>> pattern_cost("(?:a{2,5} b)+").refusal, pattern_cost("(?:a{1000}){1000}").refusal
    (None, ('its counted repetitions multiply to more than 200000', 11))
    >>> pattern_cost("(?:abc){e<=2}").refusal, pattern_cost("(?b)a").refusal
    (('it has a fuzzy match', 7), ('it sets the flags b', 0))
    >>> pattern_cost("a|b(c|d)?").paths, pattern_cost("(a+)+").paths == MANY_PATHS
    (4, True)
    """
    if len(pattern) > MAX_LENGTH:
        return PatternCost((f"it has more than {MAX_LENGTH} characters", MAX_LENGTH))
    at, levels = 0, [_Level()]
    while at < len(pattern):
        if refused := _refused_at(pattern, at):
            return PatternCost((refused, at))
        end = _read_part(pattern, at, levels)
        if levels[0].total > MAX_COPIES or levels[-1].total > MAX_COPIES:
            return PatternCost((f"its counted repetitions multiply to more than {MAX_COPIES}", at))
        if len(levels) > _MAX_DEPTH:
            return PatternCost((f"its groups are nested more than {_MAX_DEPTH} deep", at))
        at = end
    return PatternCost(paths=levels[0].ways() if len(levels) == 1 else MANY_PATHS)


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
            levels[-1].add(max(level.total, 1), level.ways())
        return at + 1
    if sign == "{" and (count := _COUNT.match(pattern, at)) is not None and (count[1] or count[2]):
        times = max(int(number[:12]) for number in (count[1] or "0", count[3] or "0"))
        level.total += level.last * (max(times, 1) - 1)
        level.last *= max(times, 1)
        level.repeat(*_bounds(count))
        return count.end()
    if sign == "|":
        level.end_alternative()
    elif sign in "*+?":
        level.repeat(0, 1 if sign == "?" else None)
    else:
        level.add(1)
    found = _ESCAPE.match(pattern, at) if sign == "\\" else _CLASS.match(pattern, at) if sign == "[" else None
    if sign == "[" and found is None:  # a class without an end, of which the library tells
        return len(pattern)
    return found.end() if found else at + 1


def _bounds(count: re.Match[str]) -> tuple[int, int | None]:
    """How often a counted part occurs, at least and at most."""
    least = int((count[1] or "0")[:12])
    return least, (int(count[3][:12]) if count[3] else None) if count[2] else least
