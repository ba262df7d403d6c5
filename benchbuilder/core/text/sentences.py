"""Splitting text into sentences at the stops that the caller names."""

from __future__ import annotations

from collections.abc import Collection

import regex

from benchbuilder.core.records.row import Span
from benchbuilder.core.text.normalise import compose_characters

_LAST = regex.compile(r"[A-Za-z0-9]+\Z|(?<![\p{L}\p{M}\p{N}])(?:\p{LC}\p{M}*)\Z")
_INITIAL = regex.compile(r"\p{LC}\p{M}*")
_CLOSING, _STRAIGHT = frozenset("”’»」』）)]"), frozenset("\"'")
"""Marks that close what somebody said, or an aside: they belong to the sentence before them; a straight one that the
sentence has not opened begins the next."""
_LETTER = regex.compile(r"[\p{L}\p{M}\p{N}]")


def sentence_spans(
    text: str, stops: Collection[str], soft_stops: Collection[str] = (), abbreviations: Collection[str] = ()
) -> list[Span]:
    """The sentences of `text` in order, each with its stop, without white space around it; empty ones left out.

    `stops` always end a sentence. `soft_stops` (such as the ASCII full stop) do not end one inside a number or name
    (``2.5``, ``E.coli``), after a number that opens the sentence (``1. ``), after a single letter that has a case
    (``S. aureus``) or after one of `abbreviations` (written without the stop, compared without case). At the end of the
    text they always do. Quotes and brackets that close behind a stop belong to its sentence.

    >>> text = "It is 2.5. See Fig. 3. Why"
    >>> [span.slice_of(text) for span in sentence_spans(text, "!", ".", ["fig"])]
    ['It is 2.5.', 'See Fig. 3.', 'Why']
    """
    folded = frozenset(compose_characters(word).casefold() for word in abbreviations)
    spans: list[Span] = []
    start = 0
    for at, mark in enumerate(text):
        if mark in stops or (mark in soft_stops and _ends_sentence(text, start, at, folded)):
            end = at + 1
            while text[end : end + 1] in _CLOSING or (
                text[end : end + 1] in _STRAIGHT and text[start:at].count(text[end]) % 2
            ):
                end += 1
            _add(spans, text, start, end)
            start = end
    _add(spans, text, start, len(text))
    return spans


def split_sentences(
    text: str, stops: Collection[str], soft_stops: Collection[str] = (), abbreviations: Collection[str] = ()
) -> list[str]:
    """The texts of :func:`sentence_spans`.

    >>> split_sentences("One. Two", "!", ".")
    ['One.', 'Two']
    """
    return [span.slice_of(text) for span in sentence_spans(text, stops, soft_stops, abbreviations)]


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        spans.append(Span(start=start, end=end))


def _ends_sentence(text: str, start: int, index: int, abbreviations: frozenset[str]) -> bool:
    """Whether the soft stop at `index` ends the sentence that began at `start`."""
    if not text[index + 1 :].strip():
        return True
    following = text[index + 1]
    if following.isdecimal() or (following.isascii() and following.isalnum()):
        return False
    before = text[start:index]
    if before.strip().isdigit():
        return False
    word = _LAST.search(before)
    if word is not None and (_INITIAL.fullmatch(word[0]) or compose_characters(word[0]).casefold() in abbreviations):
        return False
    said = compose_characters(before).casefold()
    return not any(said.endswith(name) and _opens(said, len(said) - len(name)) for name in abbreviations)


def _opens(text: str, index: int) -> bool:
    """Whether a word may begin at `index`: no letter before it continues there."""
    before, first = text[index - 1 : index], text[index : index + 1]
    return not _LETTER.fullmatch(before) or (first.isascii() and not before.isascii())
