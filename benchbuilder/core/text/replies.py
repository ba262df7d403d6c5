"""What models put around a text: reasoning, special tokens, fences, bullets, labels, openers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchbuilder.core.text.patterns import find_all
from benchbuilder.core.text.punctuation import strip_wrapping

_TAGS = r"(?:seed:)?(?:think|thinking|thoughts?|reasoning)"
_MARKED_THOUGHTS = tuple(
    (re.compile(begin, flags), re.compile(end, flags), re.compile(f"(?P<begin>{begin})|{end}", flags))
    for begin, end, flags in (
        (f"<{_TAGS}>", f"</{_TAGS}>", re.IGNORECASE),
        (r"\[THINK\]", r"\[/THINK\]", 0),  # Magistral
        ("◁think▷", "◁/think▷", 0),  # Kimi
        (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", 0),
        (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", 0),  # Command
        (r"<\|channel>thought", r"<channel\|>", 0),  # Gemma
        (
            r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<>]{0,80}<\|message\|>",
            r"<\|channel\|>final[^<>]{0,80}(?:<\|constrain\|>[^<>]{0,80})?<\|message\|>",
            0,
        ),  # Harmony
    )
)
"""The marks around the thoughts of models; the one that ends them tells it alone too."""
_WORDED_THOUGHTS = tuple(
    (re.compile(begin, flags), re.compile(end, flags))
    for begin, end, flags in (
        (r"analysis(?:(?=[A-Z])|(?=\S.*?\Sassistantfinal))", r"(?<=\S)assistantfinal", re.DOTALL),  # Harmony, no marks
        (r"Here(?: is|['’]s) my thought process:", r"Here(?: is|['’]s) my response:", re.IGNORECASE),  # Granite
        (r"Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]", re.IGNORECASE),  # Apriel
    )
)
"""Words that do the same if a text begins with them."""
_QUOTES = frozenset({"``", "“”", "‘’", "「」", "『』"})
_ANSWER = re.compile(
    r"\s*(?:<(answer|response)>|<\|begin_of_solution\|>|<\|START_RESPONSE\|>)(.*?)(?:</\1>|\Z)\s*\Z", re.DOTALL
)
_TOKEN = re.compile(r"(?:<[|｜][^<>|｜\s]{1,40}[|｜]>|</s>|<(?:eos|end_of_turn|EOT)>|\s+)\Z")
_LONGEST_TOKEN = 44
_FENCE = re.compile(r"\A```[^\n`]*\n(.*)\n```\Z", re.DOTALL)
_BULLET = re.compile(r"\A(?:[-*•]\s+|#{1,6}\s+|>\s+|\d{1,2}[.)．）]\s+)(?=\S)")
_SPACE = re.compile(r"\s*")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
_COLONS = ":："


def strip_reasoning(text: str) -> str | None:
    """The reply of a model after its reasoning, without special tokens at the end; ``None`` if it was still reasoning.

    Reasoning is what `text` begins with, in one of the forms that models use. A mark of such a form inside the answer
    is text. The mark that ends a form counts once without the one that begins it, which some chat templates put into
    the prompt.

    >>> strip_reasoning("analysisWe must decide.assistantfinalYes."), strip_reasoning("analysisWe must")
    ('Yes.', None)
    >>> strip_reasoning("<think>Is it? No.</think>It is.<|im_end|>"), strip_reasoning("<think>Is it?")
    ('It is.', None)
    >>> strip_reasoning("Is it? No.</think>It is."), strip_reasoning("A <think> begins thoughts, </think> ends them.")
    ('It is.', 'A <think> begins thoughts, </think> ends them.')
    """
    return split_reasoning(text)[1]


def split_reasoning(text: str) -> tuple[str, str | None]:
    """The reasoning that `text` begins with, with its marks, and the rest as `strip_reasoning` returns it."""
    start = 0
    while (after := _end_of_thoughts(text, start)) != start:
        if after is None:
            return text, None
        start = after
    answer = text[start:]
    if start and (wrapped := _ANSWER.match(answer)):
        answer = wrapped[2]
    answer = answer.strip()
    end = len(answer)
    while token := _TOKEN.search(answer, max(0, end - _LONGEST_TOKEN), end):  # from the end: a text can be very long
        end = token.start()
    return text[:start], answer[:end]


def _end_of_thoughts(text: str, start: int) -> int | None:
    """Where the thoughts end that begin at `start`: there if none do; ``None`` if they have no end."""
    space = _SPACE.match(text, start)
    first = space.end() if space else start
    for begin, end in _WORDED_THOUGHTS:
        if opened := begin.match(text, first):
            closed = end.search(text, opened.end())
            return closed.end() if closed else None
    for begin, end, either in _MARKED_THOUGHTS:
        opened = begin.match(text, first)
        if not opened and (start or not end.search(text)):
            continue
        depth, last = 1, None
        for mark in either.finditer(text, opened.end() if opened else 0):
            if text[mark.start() - 1 : mark.start()] + text[mark.end() : mark.end() + 1] in _QUOTES:
                continue  # the mark is spoken about
            depth += 1 if mark["begin"] else -1
            last = last if mark["begin"] else mark.end()
            if not depth:
                return last
        if opened:
            return last
    return start


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
