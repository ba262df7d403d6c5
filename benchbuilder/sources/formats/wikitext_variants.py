"""Markup of a wiki that is written in several variants of a language: the text of the one that is wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

_OPEN, _CLOSE = "-{", "}-"
_MARKS = re.compile(r"-\{(?!\{)|\}-")
_FLAGS = re.compile(r"[A-Za-z;\s-]*")
_SILENT = frozenset("TH-D")
_VERBATIM = frozenset("RN")
_DEEPEST = 20


@cache
def _rules(variants: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What parts the rules of a piece of markup, and what each is: of a variant of these languages."""
    languages = "|".join(sorted({re.escape(variant.partition("-")[0]) for variant in variants}))
    code = rf"(?:{languages})(?:-[A-Za-z]+)*"
    part = re.compile(rf";(?=\s*{code}\s*:|[^;]*?=>\s*{code}\s*:|\s*$)", re.IGNORECASE)
    return part, re.compile(rf"\s*+(?:(.*?)=>)?\s*+({code})\s*:(.*)", re.IGNORECASE | re.DOTALL)


def resolve(text: str, variants: Sequence[str]) -> tuple[str, str]:
    """`text` with each ``-{...}-`` as the first of `variants` that it knows has it, and the title that it sets ("").

    Rules for the whole page are shown where they stand, and not applied to the rest of it. Markup that is never closed
    loses its marks.

    >>> resolve("a -{zh-hans:b;zh-hant:c}- -{T|zh-hant:d;zh-hans:e}--{H|zh-cn:x}-.", ["zh-hans", "zh-cn"])
    ('a b .', 'e')
    """
    if _OPEN not in text or not variants:
        return text, ""
    stack: list[list[str]] = [[]]
    title, at, too_deep = "", 0, 0
    for mark in _MARKS.finditer(text):
        stack[-1].append(text[at : mark.start()])
        at = mark.end()
        if mark[0] == _OPEN and len(stack) > _DEEPEST:
            too_deep += 1
        elif mark[0] == _OPEN:
            stack.append([])
        elif too_deep:
            too_deep -= 1
        elif len(stack) > 1:
            shown, named = _choose_variant("".join(stack.pop()), tuple(variants))
            stack[-1].append(shown)
            title = named or title
        else:
            stack[-1].append(_CLOSE)
    stack[-1].append(text[at:])
    return "".join(piece for pieces in stack for piece in pieces), title


def _choose_variant(inside: str, variants: tuple[str, ...]) -> tuple[str, str]:
    """What is shown of the inside of a piece of markup, and the title that it sets."""
    before, bar, behind = inside.partition("|")
    flags: set[str] = set()
    if bar and _FLAGS.fullmatch(before):
        flags = {flag.strip().upper() for flag in before.split(";")}
        inside = behind
    shown = inside if flags & _VERBATIM else _variant_text(inside, variants)
    if "T" in flags:
        return "", shown.strip()
    return ("", "") if flags & _SILENT else (shown, "")


def _variant_text(inside: str, variants: tuple[str, ...]) -> str:
    part, rule = _rules(variants)
    texts: dict[str, str] = {}
    for piece in part.split(inside):
        if (match := rule.fullmatch(piece)) is not None:
            texts.setdefault(match[2].lower(), match[3].strip())
    if not texts:
        return inside
    return next((texts[one.lower()] for one in variants if one.lower() in texts), next(iter(texts.values())))
