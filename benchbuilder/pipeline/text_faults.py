"""Finds leftovers in the texts of rows: control characters, escapes, markup, odd brackets, marks of options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchbuilder.core import replace_steering_characters

_KEPT = frozenset("\n\t\r")
_ESCAPE = re.compile(r"\\[nrt](?![a-z])|\\u[0-9A-Fa-f]{4}")
_TAG = re.compile(
    r"</?(?:a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|span|strong|sub|sup|table|td|th|tr|u|ul)(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,6}|#[xX][0-9A-Fa-f]{1,5});")
_POINT = re.compile(r"(?:^|[\s;,，；、。：:])[0-9A-Za-z]{1,3}\Z")
"""What stands before the bracket of a mark in a list, which need not open: ``a)``."""
_MARK = re.compile(r"\s*[(（]?([A-Za-z0-9])\s*[.．、:：)）](?![0-9])")
_CLOSERS = {")": "(", "]": "[", "}": "{", "】": "【", "》": "《", "」": "「"}
_WIDE = str.maketrans("（）［］｛｝", "()[]{}")


@dataclass(frozen=True)
class TextFault:
    """A sort of leftover: `what` it is, the pattern for a rule of `clean` as YAML writes it (empty: none), and what to
    put."""

    what: str
    find: str = ""
    put: str = ""


CONTROL = TextFault("invisible control characters", r"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f]")
ESCAPE = TextFault("written escapes such as \\n", r"\\\\[nrt]", " ")
TAG = TextFault("HTML tags", "</?[A-Za-z][^<>]*>")
ENTITY = TextFault("HTML entities", "&(?:[A-Za-z]+|#[0-9A-Fa-fxX]+);", " ")
BRACKET = TextFault("brackets without their partner")
MARK = TextFault("the letters of options")


def faults_of(texts: Mapping[str, tuple[str, ...]], *, whole: bool) -> dict[TextFault, tuple[str, str]]:
    """The leftovers in the texts of a row, each with the name of a text and the part around the leftover.

    Without `whole`, the texts are parts of longer ones: brackets may close elsewhere.

    >>> found = faults_of({"question": ("Is it <b>so</b> (or not?",)}, whole=True)
    >>> [fault.what for fault in found]
    ['HTML tags', 'brackets without their partner']
    """
    tests: dict[TextFault, Callable[[str], int]] = {
        CONTROL: _control_at,
        ESCAPE: lambda text: _start(_ESCAPE, text) if "\\" in text else -1,
        TAG: lambda text: _start(_TAG, text) if "<" in text else -1,
        ENTITY: lambda text: _start(_ENTITY, text) if "&" in text else -1,
    }
    if whole:
        tests[BRACKET] = _odd_bracket_at
    found: dict[TextFault, tuple[str, str]] = {}
    for name, text in ((name, part) for name, parts in texts.items() for part in parts):
        for fault, test in tests.items():
            if fault not in found and (at := test(text)) >= 0:
                found[fault] = name, _around(text, at)
    if _are_marked(options := texts.get("options", ())):
        found[MARK] = "options", _around(options[0], 0)
    return found


def _start(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return -1 if match is None else match.start()


def _control_at(text: str) -> int:
    changed = replace_steering_characters(text, _KEPT)
    return -1 if changed == text else next(at for at, mark in enumerate(text) if changed[at] != mark)


def _odd_bracket_at(text: str) -> int:
    """The position of the first bracket without a partner; -1 if all have one."""
    open_at: dict[str, list[int]] = {}
    for at, mark in enumerate(text.translate(_WIDE)):
        if mark in _CLOSERS.values():
            open_at.setdefault(mark, []).append(at)
        elif mark in _CLOSERS:
            if opened := open_at.get(_CLOSERS[mark]):
                opened.pop()
            elif _POINT.search(text[max(at - 5, 0) : at]) is None:
                return at
    return min((at for places in open_at.values() for at in places), default=-1)


def _around(text: str, at: int) -> str:
    start, end = max(at - 40, 0), at + 40
    return f"{'... ' if start else ''}{text[start:end]}{' ...' if end < len(text) else ''}"


def _are_marked(options: tuple[str, ...]) -> bool:
    """Whether each option begins with its own letter or number."""
    marks = [match[1].upper() for option in options if (match := _MARK.match(option)) is not None]
    return len(marks) == len(options) > 1 and "".join(marks) in ("ABCDEFGHIJ"[: len(marks)], "1234567890"[: len(marks)])
