"""Taking marks off the ends of a text."""

from __future__ import annotations

from collections.abc import Collection

_WRAPS = ("“”", "‘’", "「」", "『』", "«»", "‹›", "„“", "„”", '""', "''", "``", "**")


def strip_marks(text: str, marks: Collection[str]) -> str:
    """`text` without the characters of `marks`, and without white space, at both ends.

    >>> strip_marks(" ,a, b. ", ",.")
    'a, b'
    """
    text = strip_marks_right(text, marks)
    start = 0
    while start < len(text) and (text[start] in marks or text[start].isspace()):
        start += 1
    return text[start:]


def strip_marks_right(text: str, marks: Collection[str]) -> str:
    """`text` without the characters of `marks`, and without white space, at its end.

    >>> strip_marks_right(".a. .", ".")
    '.a'
    """
    end = len(text)
    while end and (text[end - 1] in marks or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def strip_wrapping(text: str) -> str:
    """`text` without quotes, backquotes or asterisks around the whole of it, and without white space at both ends.

    >>> strip_wrapping("**“It is.”**"), strip_wrapping("“A” or “B”")
    ('It is.', '“A” or “B”')
    """
    text = text.strip()
    while len(text) > 2:
        pair = next((pair for pair in _WRAPS if text[0] == pair[0] and text[-1] == pair[1]), None)
        if pair is None or any(mark in text[1:-1].strip("*`") for mark in pair):
            return text
        text = text[1:-1].strip()
    return text


def end_with(text: str, stop: str, marks: Collection[str]) -> str:
    """`text` with `stop` in the place of the `marks` and the white space at its end.

    >>> end_with("It is ;", ".", ";.")
    'It is.'
    """
    return strip_marks_right(text, marks) + stop
