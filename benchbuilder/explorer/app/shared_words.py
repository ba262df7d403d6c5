"""Marks in a paragraph what it shares with a question."""

from __future__ import annotations

from collections.abc import Sequence

import regex

_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_NO_BLANKS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_SHORTEST = 2


def shared_words(query: str, text: str) -> list[tuple[str, bool]]:
    """The pieces of `text`, each with whether `query` has it too: whole words, or runs of two signs and more.

    >>> shared_words("Does aspirin help?", "Aspirin may help.")
    [('Aspirin', True), (' may ', False), ('help', True), ('.', False)]
    """
    held = query.casefold()
    words = set(_WORDS.findall(held))
    pieces: list[tuple[str, bool]] = []
    at = 0
    for word in _WORDS.finditer(text):
        _add(pieces, text[at : word.start()], False)
        at = word.end()
        if _NO_BLANKS.search(word[0]):
            for piece, hit in _shared_runs(held, word[0]):
                _add(pieces, piece, hit)
        else:
            _add(pieces, word[0], word[0].casefold() in words)
    _add(pieces, text[at:], False)
    return pieces


def marked_words(words: Sequence[str], text: str) -> list[tuple[str, bool]]:
    """The pieces of `text`, each with whether it is one of `words`; of two that begin together the longer.

    >>> marked_words(["aspirin", "help"], "Aspirin helps.")
    [('Aspirin', True), (' ', False), ('help', True), ('s.', False)]
    """
    either = "|".join(regex.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    pieces: list[tuple[str, bool]] = []
    at = 0
    for found in regex.finditer(either, text, regex.IGNORECASE) if either else ():
        _add(pieces, text[at : found.start()], False)
        at = found.end()
        _add(pieces, found[0], True)
    _add(pieces, text[at:], False)
    return pieces


def _shared_runs(held: str, word: str) -> list[tuple[str, bool]]:
    """The longest runs of signs from the left that `held` has too."""
    pieces: list[tuple[str, bool]] = []
    at = 0
    while at < len(word):
        end = at
        while end < len(word) and word[at : end + 1].casefold() in held:
            end += 1
        hit = end - at >= _SHORTEST
        end = end if hit else at + 1
        _add(pieces, word[at:end], hit)
        at = end
    return pieces


def _add(pieces: list[tuple[str, bool]], text: str, hit: bool) -> None:
    if not text:
        return
    if pieces and pieces[-1][1] == hit:
        text = pieces.pop()[0] + text
    pieces.append((text, hit))
