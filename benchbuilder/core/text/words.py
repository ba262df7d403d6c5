"""Whether one text holds another: anywhere, or as whole words."""

from __future__ import annotations

import regex

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import comparison_key
from benchbuilder.core.text.lengths import LengthUnit, split_characters
from benchbuilder.core.text.normalise import compose_characters, to_half_width

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d]+")


def split_words(text: str, ignore: str = "") -> list[str]:
    """The words of `text`, composed, in half width and without case: letters, marks and digits in a row.

    >>> split_words("Iron-rich food")
    ['iron', 'rich', 'food']
    """
    said = "".join(mark for mark in text if mark not in ignore) if ignore else text
    return _WORD.findall(to_half_width(compose_characters(said)).casefold())


def contains_text(whole: str, part: str, matching: LengthUnit, ignore: str = "") -> bool:
    """Whether `whole` holds `part`, in the form in which answers are compared: ``split_characters`` anywhere, or all
    its ``words`` in a row. A text that has no word is looked for as characters; an empty one is held by none.

    >>> contains_text("environmental", "Iron", "characters"), contains_text("environmental", "Iron", "words")
    (True, False)
    """
    wanted = split_words(part, ignore) if matching == "words" else []
    if not wanted:
        key = comparison_key(part, ignore)
        return bool(key) and key in comparison_key(whole, ignore)
    there = split_words(whole, ignore)
    return any(there[at : at + len(wanted)] == wanted for at in range(len(there) - len(wanted) + 1))


def is_on_boundaries(span: Span, text: str, matching: LengthUnit) -> bool:
    """Whether no end of `span` lies inside a character of `text` as it is seen, nor (of ``words``) inside a word.

    >>> is_on_boundaries(Span(start=3, end=7), "environment", "characters")
    True
    >>> is_on_boundaries(Span(start=3, end=7), "environment", "words")
    False
    """
    if matching == "words":
        runs = [match.span() for match in _WORD.finditer(text)]
        if any(start < at < end for start, end in runs for at in (span.start, span.end)):
            return False
    edges, at = {0}, 0
    for character in split_characters(text):
        at += len(character)
        edges.add(at)
    return span.start in edges and span.end in edges


def last_whole_match(part: str, text: str, matching: LengthUnit) -> Span | None:
    """The last place where `part` stands in `text` and cuts nothing; ``None`` if there is none.

    >>> last_whole_match("iron", "iron in the environment", "words")
    Span(start=0, end=4)
    """
    at = text.rfind(part) if part else -1
    while at >= 0:
        span = Span(start=at, end=at + len(part))
        if is_on_boundaries(span, text, matching):
            return span
        at = text.rfind(part, 0, at + len(part) - 1)
    return None
