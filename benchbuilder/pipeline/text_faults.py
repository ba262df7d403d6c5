"""Finds leftovers in the texts of rows: control characters, escapes, markup, odd brackets, marks of options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from benchbuilder.sources import TEXT_FIXES, TextFix

_POINT = re.compile(r"(?:^|[\s;,，；、。：:])[0-9A-Za-z]{1,3}\Z")
"""What stands before the bracket of a mark in a list, which need not open: ``a)``."""
_MARK = re.compile(r"\s*[(（]?([A-Za-z0-9])\s*[.．、:：)）](?![0-9])")
_CLOSERS = {")": "(", "]": "[", "}": "{", "】": "【", "》": "《", "」": "「"}
_WIDE = str.maketrans("（）［］｛｝", "()[]{}")


@dataclass(frozen=True)
class TextFault:
    """A sort of leftover: `what` it is, and the clean-up that mends it (empty: none)."""

    what: str
    fix: TextFix | Literal[""] = ""


CONTROL = TextFault("invisible control characters", "invisible")
ESCAPE = TextFault("written escapes such as \\n", "escapes")
TAG = TextFault("HTML tags", "tags")
ENTITY = TextFault("HTML entities", "entities")
MOJIBAKE = TextFault("UTF-8 that was read in another encoding", "mojibake")
LOOKALIKE = TextFault("letters of another script inside Latin words", "lookalikes")
BRACKET = TextFault("brackets without their partner")
MARK = TextFault("the letters of options")
_FIXED = (CONTROL, ESCAPE, TAG, ENTITY, MOJIBAKE, LOOKALIKE)


def faults_of(texts: Mapping[str, tuple[str, ...]], *, whole: bool) -> dict[TextFault, tuple[str, str]]:
    """The leftovers in the texts of a row, each with the name of a text and the part around the leftover.

    What a clean-up changes is a leftover. Without `whole`, the texts are parts of longer ones: brackets may close
    elsewhere.

    >>> found = faults_of({"question": ("Is it <b>so</b> (or not?",)}, whole=True)
    >>> [fault.what for fault in found]
    ['HTML tags', 'brackets without their partner']
    """
    tests: dict[TextFault, Callable[[str], int]] = {fault: partial(_changed_at, fault) for fault in _FIXED}
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


def _changed_at(fault: TextFault, text: str) -> int:
    """The position of the first character that the clean-up of a fault changes; -1 if it changes none."""
    fixed = TEXT_FIXES[fault.fix](text) if fault.fix else text
    if fixed == text:
        return -1
    pairs = enumerate(zip(text, fixed, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(text), len(fixed)))


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
