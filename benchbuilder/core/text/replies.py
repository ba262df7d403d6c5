"""What models put around a text: reasoning, special tokens, fences, bullets, labels, openers, formatting."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from benchbuilder.core.text.invisible import is_spelling_mark
from benchbuilder.core.text.normalise import compose_characters, to_half_width
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
_TAG = re.compile(r"<[/!]?[A-Za-z][^<>]*>")
_NOTHING = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
_COLONS = ":："
_ODD = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


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


def has_markup(text: str) -> bool:
    """Whether `text` contains a tag, or marks of bold print.

    >>> has_markup("so <b>bold</b>"), has_markup("P<0.05"), has_markup("it is **not** so")
    (True, False, True)
    """
    return bool(_TAG.search(text)) or "**" in text or "`" in text


def odd_characters(text: str) -> str:
    """The invisible and controlling characters of `text`, as code points.

    Line feeds are allowed, and joiners and marks of direction that are part of the spelling.

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


_SILENT = dict.fromkeys(
    [
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
        0xFEFF,
        0xAD,
        *range(0xE000, 0xF900),  # private use: parsers of answers put their own signs there
    ]
)
_SAME = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u3000": " "})
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(del|s|strike)>[^<]{0,400}</\1>", re.IGNORECASE)
_FENCE_LINE = re.compile(r"^[^\S\n]*```[^\n`]*$", re.MULTILINE)
_HTML_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>\n]{0,200})?/?>")
_LINK = re.compile(r"\[([^\[\]\n]{1,400})\]\([^()\s]{1,400}\)")
_BOXED = re.compile(
    r"(?<!\$)\$*\\(?:boxed|fbox)\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}\n]{1,400})\}|([^{}\n]{1,400}))\s*\}\$*"
)
_HEAD = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]*|[-*+\u2022\u00b7][ \t]+)+", re.MULTILINE)
_STARS = re.compile(r"\*{1,3}|`+|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_DASH = re.compile(r"(?<=\s)[-\u2013]{1,3}(?=\s)|\u2014+|\u2013(?=\s)")
_SPACE = re.compile(r"[^\S\n]+")


def strip_formatting(text: str) -> str | None:
    r"""The plain text of `text`, in half width; ``None`` if it is reasoning that never ended.

    Line breaks stay, and a dash between words becomes an em dash. Text that is struck out is removed; boxed text gets a
    line of its own.

    >>> strip_formatting("<think>Hm.</think>**Ｎｏ**, ~~yes~~"), strip_formatting("<think>Hm")
    ('No,', None)
    >>> strip_formatting("so $\\boxed{No}$")
    'so\nNo'
    """
    reply = strip_reasoning(strip_wrapping(text))
    if reply is None:
        return None
    reply = to_half_width(compose_characters(reply.replace("\r\n", "\n").replace("\r", "\n")))
    said = reply.translate(_SILENT).translate(_SAME)
    said = _FENCE_LINE.sub("", _STRUCK.sub("", said))
    said = _BOXED.sub(lambda match: f"\n{match[1] or match[2]}\n", said)
    said = _LINK.sub(r"\1", _HTML_TAG.sub("", said))
    said = _STARS.sub("", _HEAD.sub("", said))
    said = _SPACE.sub(" ", _DASH.sub("\u2014", said))
    return re.sub(r" ?\n[ \n]*", "\n", said).strip()
