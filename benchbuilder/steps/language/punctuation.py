"""Marks at the ends of sentences and phrases: taken off, and put on."""

from __future__ import annotations

from collections.abc import Collection


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


def end_with(text: str, stop: str, marks: Collection[str]) -> str:
    """`text` with `stop` instead of the `marks` and the white space at its end.

    >>> end_with("It is ;", ".", ";.")
    'It is.'
    """
    return strip_marks_right(text, marks) + stop
