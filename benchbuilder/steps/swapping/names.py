"""How two names are compared: by letters, by pieces and by containment, in characters or in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Literal

from benchbuilder.core import (
    LengthUnit,
    comparison_form,
    comparison_key,
    compose_characters,
    split_words,
    to_half_width,
)

Nearness = Literal["none", "contained", "bigram", "letter"]
"""When two names are near: never; if one contains the other; if they also share a piece, or a token."""
_ROOT = 4
"""Characters that words of one root share, in languages that write words apart."""
_TOKEN = re.compile(r"[a-z0-9]+|[^\W_]")


class NameForms:
    """The parts of names in the unit of a language.

    A name is a row of tokens: with ``words`` its words, with ``characters`` its letters and digits, where ASCII ones in
    a row are one token. Its pieces are tokens in pairs, and tokens of several letters. A name contains another if it
    has all its tokens in a row.
    """

    def __init__(self, unit: LengthUnit, ignore: str) -> None:
        self._words = unit == "words"
        self._ignore = ignore
        self.tokens = lru_cache(maxsize=None)(self._tokens)
        self.pieces = lru_cache(maxsize=None)(self._pieces)

    def key(self, name: str) -> str:
        """The form in which two names count as the same."""
        return comparison_key(name, self._ignore)

    def letters(self, name: str) -> frozenset[str]:
        """The characters of a name as people read it, without white space and case.

        With ``words``, its words and its runs of four characters: words of one root share letters too.
        """
        if not self._words:
            return frozenset(comparison_form(name))
        text = name.casefold()
        runs = (text[start : start + _ROOT] for start in range(len(text) - _ROOT + 1))
        return frozenset([*self.tokens(name), *text.split(), *runs])

    def form(self, name: str) -> str:
        """The form in which names are searched in each other: their tokens with a space between them."""
        return " ".join(self.tokens(name))

    def runs(self, name: str) -> Iterator[str]:
        """The form of every part that the name contains, itself included."""
        tokens = self.tokens(name)
        for start in range(len(tokens)):
            for stop in range(start + 1, len(tokens) + 1):
                yield " ".join(tokens[start:stop])

    def near(self, lefts: Collection[str], rights: Collection[str], nearness: Nearness) -> Iterator[tuple[str, str]]:
        """Every pair of a name of `lefts` and one of `rights` that are near; a pair may come twice."""
        for names, others, swapped in ((lefts, rights, False), (rights, lefts, True)):
            by_form: dict[str, list[str]] = {}
            for name in names:
                by_form.setdefault(self.form(name), []).append(name)
            for other in others:
                for part in set(self.runs(other)) & by_form.keys():
                    for name in by_form[part]:
                        yield (other, name) if swapped else (name, other)
        by_part: dict[str, list[str]] = {}
        parts = self._parts(nearness)
        for name in lefts:
            for part in parts(name):
                by_part.setdefault(part, []).append(name)
        for other in rights if by_part else ():
            for part in parts(other) & by_part.keys():
                yield from ((name, other) for name in by_part[part])

    def is_near(self, left: str, right: str, nearness: Nearness) -> bool:
        """Whether one of two names contains the other, or they share what `nearness` says."""
        parts = self._parts(nearness)
        return self.overlap(left, right) or not parts(left).isdisjoint(parts(right))

    def overlap(self, left: str, right: str) -> bool:
        """Whether one of two names contains the other; a name without tokens is never contained."""
        one, two = self.search_form(left), self.search_form(right)
        return (bool(one.strip()) and one in two) or (bool(two.strip()) and two in one)

    def search_form(self, name: str) -> str:
        """The form of a name with a space at both ends, so that no token is cut where it is searched."""
        return f" {self.form(name)} "

    def text_form(self, text: str) -> str:
        """A name or a paragraph in the form in which paragraphs are searched for names."""
        return f" {' '.join(split_words(text))} " if self._words else self.key(text)

    def _tokens(self, name: str) -> tuple[str, ...]:
        if self._words:
            return tuple(split_words(name))
        return tuple(_TOKEN.findall(to_half_width(compose_characters(name)).casefold()))

    def _pieces(self, name: str) -> frozenset[str]:
        tokens = self.tokens(name)
        if self._words or len(tokens) == 1:
            return frozenset(tokens)
        pairs = (" ".join(tokens[start : start + 2]) for start in range(len(tokens) - 1))
        return frozenset([*pairs, *(token for token in tokens if len(token) > 1)])

    def _parts(self, nearness: Nearness) -> Callable[[str], frozenset[str]]:
        """What two near names share besides one containing the other."""
        return {"bigram": self.pieces, "letter": self._token_set}.get(nearness, _no_parts)

    def _token_set(self, name: str) -> frozenset[str]:
        return frozenset(self.tokens(name))


def _no_parts(_: str) -> frozenset[str]:
    return frozenset()
