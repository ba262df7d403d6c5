"""Divides a text into pieces that a page marks: what was searched, words of an audit, words that two texts share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchbuilder.core import split_words
from benchbuilder.explorer.site.search_keys import search_form, sign_runs

_SHARED_SIGNS = 3
"""The least number of signs in a row that two Chinese texts share by more than chance."""
_SHARED_LETTERS = 4
"""The same for the letters of a word elsewhere."""


@dataclass(frozen=True)
class TextPiece:
    """A piece of a text, with the name of its mark (empty: none)."""

    text: str
    mark: str = ""


Span = tuple[int, int, str]


def marked_pieces(text: str, spans: Iterable[Span]) -> list[TextPiece]:
    """The pieces of a text; where spans overlap, the first one given counts.

    >>> [(piece.text, piece.mark) for piece in marked_pieces("abcd", [(1, 3, "hit")])]
    [('a', ''), ('bc', 'hit'), ('d', '')]
    """
    marks = [""] * len(text)
    for start, end, mark in spans:
        for place in range(max(start, 0), min(end, len(text))):
            marks[place] = marks[place] or mark
    pieces: list[TextPiece] = []
    begin = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or marks[place] != marks[begin]:
            pieces.append(TextPiece(text[begin:place], marks[begin]))
            begin = place
    return pieces


def occurrences(text: str, word: str, mark: str) -> Iterator[Span]:
    """Where a word is in a text.

    >>> list(occurrences("aXbX", "X", "hit"))
    [(1, 2, 'hit'), (3, 4, 'hit')]
    """
    place = text.find(word) if word else -1
    while place >= 0:
        yield place, place + len(word), mark
        place = text.find(word, place + len(word))


def shared_spans(text: str, others: Iterable[str], mark: str) -> list[Span]:
    """Where a text has three signs in a row, or a word of four letters, that one of the others has too.

    >>> shared_spans("the insulin dose", ["Insulin is right."], "shared")
    [(4, 11, 'shared')]
    """
    signs: set[str] = set()
    words: set[str] = set()
    for other in others:
        for run in sign_runs(search_form(other)):
            signs.update(run[place : place + _SHARED_SIGNS] for place in range(len(run) - _SHARED_SIGNS + 1))
        words.update(word for word in split_words(search_form(other)) if len(word) >= _SHARED_LETTERS)
    form = search_form(text)
    if len(form) != len(text):  # some letters have another length in the form that is compared: then nothing is marked
        return []
    spans = [(place, place + _SHARED_SIGNS, mark) for place in range(len(form) - _SHARED_SIGNS + 1)
             if form[place : place + _SHARED_SIGNS] in signs]  # fmt: skip
    for word in sorted(words.intersection(split_words(form))):
        spans += occurrences(form, word, mark)
    return spans
