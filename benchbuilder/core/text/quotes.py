"""Finds a quote in the text that it is said to be from, whatever its white space, width and marks."""

from __future__ import annotations

import unicodedata

from benchbuilder.core.records.row import Span

_QUOTE_MARKS = frozenset("\"'`´“”‘’„‟‚‛«»‹›「」『』〝〞＂＇")
_MARKUP = frozenset("*_`#|~")


def plain_form(text: str) -> str:
    """`text` in normal form KC, without white space and quotation marks, without case.

    >>> plain_form("“Ｉron  is”")
    'ironis'
    """
    return _without_marks(text).casefold()


def quote_span(quote: str, paragraph: str) -> Span | None:
    """Where `quote` is in `paragraph`, both without white space and quotation marks; ``None`` if it is not there.

    >>> quote_span("may  fall", "The cord “may” fall off.")
    Span(start=7, end=14)
    """
    wanted, text = _without_marks(quote), _without_marks(paragraph)
    at = text.find(wanted) if wanted else -1
    return None if at < 0 else Span(start=at, end=at + len(wanted))


def find_quote(quote: str, text: str) -> Span | None:
    """The range of `text` that says `quote`, whatever white space, width, case, quotation marks and marks of bold.

    >>> find_quote("may fall", "The cord “**may** fall” off.").slice_of("The cord “**may** fall” off.")
    'may** fall'
    """
    places = [(at, part) for at, mark in enumerate(text) for part in _bare(mark)]
    wanted, said = _bare(quote), "".join(part for _, part in places)
    at = said.find(wanted) if wanted else -1
    return None if at < 0 else Span(start=places[at][0], end=places[at + len(wanted) - 1][0] + 1)


def _bare(text: str) -> str:
    return "".join(mark for mark in _without_marks(text).casefold() if mark not in _MARKUP)


def _without_marks(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text)
    return "".join(mark for mark in plain if not mark.isspace() and mark not in _QUOTE_MARKS)
