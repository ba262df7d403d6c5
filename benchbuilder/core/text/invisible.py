"""Characters without a glyph: which belong to the spelling, which control the display, and texts without any glyph."""

from __future__ import annotations

import json
import unicodedata

_DIRECTIONS = frozenset("\u061c\u200e\u200f")
"""Marks of direction for adjacent characters only, unlike embeddings and overrides."""
_JOINERS = frozenset("\u200c\u200d")
_SIGNS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")
"""Visible signs, mostly before numbers, that Unicode counts as format characters."""


def is_spelling_mark(text: str, index: int) -> bool:
    """Whether the format character at `index` belongs to the spelling.

    That is a joiner or non-joiner after a letter, mark or picture outside ASCII, or a mark of direction.

    >>> is_spelling_mark("\\u0645\\u06cc\\u200c\\u0634", 2), is_spelling_mark("a\\u200cb", 1)
    (True, False)
    >>> is_spelling_mark("\\u0645\\u202e", 1)
    False
    """
    mark = text[index]
    if mark not in _JOINERS:
        return mark in _DIRECTIONS or mark in _SIGNS
    before = text[index - 1 : index]
    if not before or before.isascii():
        return False
    category = unicodedata.category(before)
    return category[0] in "LM" or category in ("So", "Sk")


def replace_steering_characters(text: str, kept: frozenset[str], put: str = "\N{REPLACEMENT CHARACTER}") -> str:
    r"""`text` with `put` for characters that control a page or a terminal, or that nobody sees.

    These are controls except those `kept`, half characters, and format characters outside the spelling.

    >>> replace_steering_characters("a\x1b[2J\u202eb", frozenset("\n"))
    'a\ufffd[2J\ufffdb'
    """
    return "".join(
        put
        if unicodedata.category(mark) in ("Cc", "Cf", "Cs") and mark not in kept and not is_spelling_mark(text, at)
        else mark
        for at, mark in enumerate(text)
    )


def show_invisible(text: str) -> str:
    r"""`text` with characters that nobody sees written as their code points, for files that people look at.

    These are controls except tab and line ends, format characters outside the spelling, separators of lines, fillers
    and halves of characters. Line ends, joiners and marks of direction stay.

    >>> show_invisible("a\u202eb\0c\n")
    'a[U+202E]b[U+0000]c\n'
    """
    if text.isprintable() and not _FILLERS.intersection(text):
        return text
    return "".join(
        f"[U+{ord(mark):04X}]" if _is_hidden(mark) and not is_spelling_mark(text, at) else mark
        for at, mark in enumerate(text)
    )


def escape_invisible(json_text: str) -> str:
    r"""JSON with such characters as escapes, so that a file shows them and nothing of its data changes.

    >>> escape_invisible('"a\u202eb"')
    '"a\\u202eb"'
    """
    if json_text.isprintable() and not _FILLERS.intersection(json_text):
        return json_text
    return "".join(
        json.dumps(mark)[1:-1] if _is_hidden(mark) and not is_spelling_mark(json_text, at) else mark
        for at, mark in enumerate(json_text)
    )


def _is_hidden(mark: str) -> bool:
    return mark not in "\t\n\r" and (mark in _FILLERS or unicodedata.category(mark) in _HIDDEN)


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Categories of Unicode without a glyph: controls, format characters (zero-width ones), separators."""
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Joiners, fillers and the empty Braille pattern: named letters and marks, but invisible."""


def is_blank(text: str) -> bool:
    """Whether nothing of `text` is visible."""
    return all(_unseen(character) for character in text)


def _unseen(character: str) -> bool:
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return selector or character in _FILLERS or unicodedata.category(character) in _UNSEEN
