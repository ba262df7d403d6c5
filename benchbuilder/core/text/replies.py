"""What models put around a text: reasoning, special tokens, fences, bullets, labels, openers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchbuilder.core.text.patterns import find_all
from benchbuilder.core.text.punctuation import strip_wrapping

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CHANNELS = re.compile(r"\A\s*analysis\S.*assistantfinal", re.DOTALL)
_ANALYSIS = re.compile(r"\Aanalysis[A-Z]")
_TOKEN = re.compile(r"(?:<[|｜][^<>|｜\s]{1,40}[|｜]>|</s>|<(?:eos|end_of_turn|EOT)>|\s+)\Z")
_LONGEST_TOKEN = 44
_FENCE = re.compile(r"\A```[^\n`]*\n(.*)\n```\Z", re.DOTALL)
_BULLET = re.compile(r"\A(?:[-*•]\s+|#{1,6}\s+|>\s+|\d{1,2}[.)．）]\s+)(?=\S)")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
_COLONS = ":："


def strip_reasoning(text: str) -> str | None:
    """The reply of a model after its reasoning, without special tokens at the end; ``None`` if it was still reasoning.

    Reasoning is everything up to the last closing tag; an opening tag after that was never closed. Some services leave
    out the special tokens of models with channels: what is left is ``analysis`` and ``assistantfinal``, without space.

    >>> strip_reasoning("analysisWe must decide.assistantfinalYes."), strip_reasoning("analysisWe must")
    ('Yes.', None)
    >>> strip_reasoning("<think>Is it? No.</think>It is.<|im_end|>"), strip_reasoning("<think>Is it?")
    ('It is.', None)
    """
    text = _CHANNELS.sub("", _THOUGHTS.sub("", text)).strip()
    end = len(text)
    while token := _TOKEN.search(text, max(0, end - _LONGEST_TOKEN), end):  # from the end: a text can be very long
        end = token.start()
    text = text[:end]
    return None if _THINKING.search(text) or _ANALYSIS.match(text) else text


def strip_reply_framing(text: str, labels: Sequence[str], openers: Sequence[str]) -> str:
    """`text` without fences, bullets, quotes, bold marks, `labels` and `openers` (patterns) at its start.

    Line breaks become line feeds, and characters without width are removed.

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


def _without_label(text: str, label: str) -> str:
    name = label.rstrip(_COLONS)
    forms = [label, f"**{label}**", *(f"**{name}**{colon}" for colon in _COLONS if name != label)]
    for form in forms:
        text = text.removeprefix(form).strip()
    return text
