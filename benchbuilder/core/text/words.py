"""Whether one text holds another: anywhere, or as whole words."""

from __future__ import annotations

import regex

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.answers import same_key
from benchbuilder.core.text.lengths import Unit, characters
from benchbuilder.core.text.normalise import compose, narrow

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}\u200c\u200d]+")


def word_list(text: str, ignore: str = "") -> list[str]:
    """The words of `text`, composed, in half width and without case: letters, marks and digits in a row.

    >>> word_list("Iron-rich food")
    ['iron', 'rich', 'food']
    """
    said = "".join(mark for mark in text if mark not in ignore) if ignore else text
    return _WORD.findall(narrow(compose(said)).casefold())


def holds(whole: str, part: str, matching: Unit, ignore: str = "") -> bool:
    """Whether `whole` holds `part`, in the form in which answers are compared: ``characters`` anywhere, or all its
    ``words`` in a row. A text that has no word is looked for as characters; an empty one is held by none.

    >>> holds("environmental", "Iron", "characters"), holds("environmental", "Iron", "words")
    (True, False)
    """
    wanted = word_list(part, ignore) if matching == "words" else []
    if not wanted:
        key = same_key(part, ignore)
        return bool(key) and key in same_key(whole, ignore)
    there = word_list(whole, ignore)
    return any(there[at : at + len(wanted)] == wanted for at in range(len(there) - len(wanted) + 1))


def cuts_nothing(span: Span, text: str, matching: Unit) -> bool:
    """Whether no end of `span` lies inside a character of `text` as it is seen, nor (of ``words``) inside a word.

    >>> cuts_nothing(Span(start=3, end=7), "environment", "characters")
    True
    >>> cuts_nothing(Span(start=3, end=7), "environment", "words")
    False
    """
    if matching == "words":
        runs = [match.span() for match in _WORD.finditer(text)]
        if any(start < at < end for start, end in runs for at in (span.start, span.end)):
            return False
    edges, at = {0}, 0
    for character in characters(text):
        at += len(character)
        edges.add(at)
    return span.start in edges and span.end in edges


def whole_place(part: str, text: str, matching: Unit) -> Span | None:
    """The last place where `part` stands in `text` and cuts nothing; ``None`` if there is none.

    >>> whole_place("iron", "iron in the environment", "words")
    Span(start=0, end=4)
    """
    at = text.rfind(part) if part else -1
    while at >= 0:
        span = Span(start=at, end=at + len(part))
        if cuts_nothing(span, text, matching):
            return span
        at = text.rfind(part, 0, at + len(part) - 1)
    return None
