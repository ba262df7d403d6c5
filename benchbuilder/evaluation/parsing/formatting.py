"""Takes the formatting off a reply, so that its words can be read."""

from __future__ import annotations

import re

from benchbuilder.core import compose_characters, strip_reasoning, strip_wrapping, to_half_width

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
