"""Finding and comparing answers."""

from __future__ import annotations

import re

from benchbuilder.records.envelope import Span
from benchbuilder.text.distance import most_similar
from benchbuilder.text.normalise import comparable, narrow

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def locate(answer: str, text: str, max_distance: int) -> Span | None:
    """Where `text` gives `answer`: the last literal place, else the most similar part within `max_distance` edits.

    The answer is never read as a pattern. With `max_distance` 0 only a literal place counts.

    >>> locate("C++", "C++ or C+", 2)
    Span(start=0, end=3)
    """
    if not answer:
        return None
    return most_similar(answer, text, max_distance)


def same_key(text: str, ignore: str) -> str:
    """The form in which answers are compared: widths, white space, case and the characters of `ignore` do not count.

    >>> same_key("Ｂ超。", "。") == same_key("b超", "。")
    True
    """
    return comparable("".join(mark for mark in text if mark not in ignore))


def overlaps(left: str, right: str) -> bool:
    """Whether one of two answers holds the other, so that the one may be true where the other is.

    >>> overlaps("4 hours", "within 4 hours")
    True
    """
    return left in right or right in left


def first_number(text: str) -> float | None:
    """The first number in `text`, in digits of any width; ``None`` if it holds none.

    >>> first_number("at most 1.5 litres")
    1.5
    """
    found = _NUMBER.search(comparable(text))
    return float(found.group()) if found else None


def without_numbers(text: str) -> str:
    """What stands around the numbers in `text`: unit and qualifiers.

    >>> without_numbers("at most 1.5 litres")
    'at most  litres'
    """
    return _NUMBER.sub("", narrow(text))
