"""What an answer says, without what only shapes it: reasoning, fences, tags, bold, struck out parts, widths."""

from __future__ import annotations

import re

from benchbuilder.core.text.normalise import compose_characters, to_half_width
from benchbuilder.core.text.punctuation import strip_wrapping
from benchbuilder.core.text.replies import strip_reasoning

_NOTHING = dict.fromkeys(
    [
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
        0xFEFF,
        0xAD,
        *range(0xE000, 0xF900),  # private use: what reads an answer puts signs of its own there
    ]
)
_SAME = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u3000": " "})
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(del|s|strike)>[^<]{0,400}</\1>", re.IGNORECASE)
_FENCE = re.compile(r"^[^\S\n]*```[^\n`]*$", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>\n]{0,200})?/?>")
_LINK = re.compile(r"\[([^\[\]\n]{1,400})\]\([^()\s]{1,400}\)")
_BOXED = re.compile(
    r"(?<!\$)\$*\\(?:boxed|fbox)\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}\n]{1,400})\}|([^{}\n]{1,400}))\s*\}\$*"
)
_HEAD = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]*|[-*+\u2022\u00b7][ \t]+)+", re.MULTILINE)
_STARS = re.compile(r"\*{1,3}|`+|(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")
_DASH = re.compile(r"(?<=\s)[-\u2013]{1,3}(?=\s)|\u2014+|\u2013(?=\s)")
_SPACE = re.compile(r"[^\S\n]+")


def strip_formatting(text: str) -> str | None:
    r"""What `text` says, in half width; ``None`` if it is reasoning that never ended.

    Line breaks stay, and a dash between words is an em dash. What is struck out is gone, what is boxed stands on a line
    of its own.

    >>> strip_formatting("<think>Hm.</think>**Ｎｏ**, ~~yes~~"), strip_formatting("<think>Hm")
    ('No,', None)
    >>> strip_formatting("so $\\boxed{No}$")
    'so\nNo'
    """
    said = strip_reasoning(strip_wrapping(text))
    if said is None:
        return None
    said = (
        to_half_width(compose_characters(said.replace("\r\n", "\n").replace("\r", "\n")))
        .translate(_NOTHING)
        .translate(_SAME)
    )
    said = _FENCE.sub("", _STRUCK.sub("", said))
    said = _BOXED.sub(lambda match: f"\n{match[1] or match[2]}\n", said)
    said = _LINK.sub(r"\1", _TAG.sub("", said))
    said = _STARS.sub("", _HEAD.sub("", said))
    said = _SPACE.sub(" ", _DASH.sub("\u2014", said))
    return re.sub(r" ?\n[ \n]*", "\n", said).strip()
