"""What models put around a text that was asked for: reasoning, special tokens, fences, bullets, labels, openers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from benchbuilder.core.text.invisible import is_spelling_mark
from benchbuilder.core.text.patterns import find_all
from benchbuilder.core.text.punctuation import strip_wrapping

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_TOKEN = re.compile(r"(?:<[|｜][^<>|｜\s]{1,40}[|｜]>|</s>|<(?:eos|end_of_turn|EOT)>|\s+)\Z")
_LONGEST_TOKEN = 44
_FENCE = re.compile(r"\A```[^\n`]*\n(.*)\n```\Z", re.DOTALL)
_BULLET = re.compile(r"\A(?:[-*•]\s+|#{1,6}\s+|>\s+|\d{1,2}[.)．）]\s+)(?=\S)")
_TAG = re.compile(r"<[/!]?[A-Za-z][^<>]*>")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
_COLONS = ":："
_ODD = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def strip_reasoning(text: str) -> str | None:
    """What a model said after its reasoning, without special tokens at its end; ``None`` if it was still reasoning.

    Reasoning is all up to the last closing tag; an opening tag behind that, or without one, was never closed.

    >>> strip_reasoning("<think>Is it? No.</think>It is.<|im_end|>"), strip_reasoning("<think>Is it?")
    ('It is.', None)
    """
    text = _THOUGHTS.sub("", text).strip()
    end = len(text)
    while token := _TOKEN.search(text, max(0, end - _LONGEST_TOKEN), end):  # from the end: a text can be very long
        end = token.start()
    text = text[:end]
    return None if _THINKING.search(text) else text


def strip_reply_framing(text: str, labels: Sequence[str], openers: Sequence[str]) -> str:
    """`text` without fences, bullets, quotes, bold marks, `labels` and `openers` (patterns) at its start.

    White space that stands for a line break is one line feed, and what has no width is nothing.

    >>> strip_reply_framing("1. **A:** A: “It is.”", ["A:"], [])
    'It is.'
    """
    text = text.replace("\r\n", "\n").translate(_NOTHING).strip()
    while True:
        before = text
        text = _BULLET.sub("", _FENCE.sub(r"\1", text)).strip()
        text = strip_wrapping(text)
        for label in labels:
            text = _without_label(text, label)
        for pattern in openers:
            text = text[max((span.end for span in find_all(pattern, text) if span.start == 0), default=0) :].strip()
        if text == before:
            return text


def has_markup(text: str) -> bool:
    """Whether `text` holds a tag, or marks of bold print.

    >>> has_markup("so <b>bold</b>"), has_markup("P<0.05"), has_markup("it is **not** so")
    (True, False, True)
    """
    return bool(_TAG.search(text)) or "**" in text or "`" in text


def odd_characters(text: str) -> str:
    """The characters of `text` that nobody sees or that change what is shown, as code points; line feeds may stand, and
    so may joiners and marks of direction where they are part of the spelling.

    >>> odd_characters("it is\\x1b[2J"), odd_characters("one\\ntwo")
    ('U+001B', '')
    """
    odd = {
        mark
        for at, mark in enumerate(text)
        if mark != "\n" and unicodedata.category(mark) in _ODD and not is_spelling_mark(text, at)
    }
    return " ".join(f"U+{ord(mark):04X}" for mark in sorted(odd))


def _without_label(text: str, label: str) -> str:
    name = label.rstrip(_COLONS)
    forms = [label, f"**{label}**", *(f"**{name}**{colon}" for colon in _COLONS if name != label)]
    for form in forms:
        text = text.removeprefix(form).strip()
    return text
