"""Keeps the parts of mixed texts apart where a script runs from right to left."""

from __future__ import annotations

import re
import unicodedata

_PARTS = re.compile(r"( \| | · |\n)")
_MARK = re.compile(r"(\s*[(（]?[A-Za-z0-9]{1,2}[.)、．）])(\s+)")


def runs_right_to_left(text: str) -> bool:
    """Whether a text has letters of a script that runs from right to left.

    >>> runs_right_to_left("a \u0628"), runs_right_to_left("a b")
    (True, False)
    """
    return not text.isascii() and any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text)


def directed_parts(text: str) -> list[tuple[str, bool]]:
    """The parts of a text, each with whether it has a direction of its own: marks of options, options, fields, lines.

    A text without letters from right to left is one part.

    >>> [part for part, own in directed_parts("\u0628\u061f · A. 5 mg | B. \u0628") if own]
    ['\u0628\u061f', 'A.', '5 mg', 'B.', '\u0628']
    """
    if not runs_right_to_left(text):
        return [(text, False)]
    parts: list[tuple[str, bool]] = []
    for number, piece in enumerate(_PARTS.split(text)):
        if number % 2:
            parts.append((piece, False))
            continue
        if mark := _MARK.match(piece):
            parts += [(mark[1], True), (mark[2], False)]
        if rest := piece[mark.end() if mark else 0 :]:
            parts.append((rest, True))
    return parts if len(parts) > 1 else [(text, False)]
