"""How two names are compared: by letters, by pieces and by containment, in characters or in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from benchbuilder.core import (
    LengthUnit,
    comparison_form,
    comparison_key,
    compose_characters,
    split_words,
    to_half_width,
)
from benchbuilder.steps.language.columns import comparison_keys
from benchbuilder.steps.swapping.meeting import meeting
from benchbuilder.steps.swapping.relatedness import hash_column

Nearness = Literal["none", "contained", "bigram"]
"""When two names are near: never; if one contains the other; if they also share a piece."""
_ROOT = 4
"""Characters that words of one root share, in languages that write words apart."""
_REMEMBERED = 1 << 16
"""Names of which the tokens and pieces are held; those of a block of facts are fewer."""
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
        self.tokens = lru_cache(_REMEMBERED)(self._tokens)
        self.pieces = lru_cache(_REMEMBERED)(self._pieces)
        self.columns = lru_cache(_REMEMBERED)(self._columns)

    def key(self, name: str) -> str:
        """The form in which two names count as the same."""
        return comparison_key(name, self._ignore)

    def keys(self, names: pa.Array[Any]) -> pa.Array[Any]:
        """The key of each name of a column."""
        return comparison_keys(names, self._ignore)

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

    def near(
        self, lefts: Sequence[Collection[str]], rights: Sequence[Collection[str]], nearness: Nearness,
        ignored: Set[str] = frozenset(),
    ) -> Any:  # fmt: skip
        """For each set of names of `lefts` and each of `rights`, whether any two names of them are near, as bits.

        The pieces `ignored` make no names near.
        """
        parts = self._parts(nearness)
        found = meeting(_of_all(parts, lefts), [some - ignored for some in _of_all(parts, rights)])
        if (inner := self._inner(nearness)) is not None:
            found = found | meeting(_of_all(self._whole, lefts), list(_of_all(inner, rights)))
            found |= meeting(_of_all(inner, lefts), list(_of_all(self._whole, rights)))
        return found

    def is_near(self, left: str, right: str, nearness: Nearness, ignored: Set[str] = frozenset()) -> bool:
        """Whether one of two names contains the other, or they share what `nearness` says and is not `ignored`."""
        parts = self._parts(nearness)
        return self.overlap(left, right) or not (set(parts(left)) - ignored).isdisjoint(parts(right))

    def frequent_pieces(self, names: Iterable[str], most: int) -> frozenset[str]:
        """The pieces that more than `most` of some names have."""
        counts = Counter(piece for name in names for piece in self.pieces(name))
        return frozenset(piece for piece, count in counts.items() if count > most)

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

    def _columns(self, name: str) -> tuple[int, ...]:
        """The columns of the pieces of a name, in tables of relatedness."""
        return tuple(map(hash_column, self.pieces(name)))

    def _parts(self, nearness: Nearness) -> Callable[[str], Collection[str]]:
        """What two near names share besides one containing the other."""
        return self.pieces if nearness == "bigram" else _no_parts

    def _inner(self, nearness: Nearness) -> Callable[[str], Iterable[str]] | None:
        """The forms that a name contains, as far as containing them does not mean to share a part."""
        if nearness == "contained":
            return self.runs
        return self.tokens if nearness == "bigram" and not self._words else None

    def _whole(self, name: str) -> tuple[str]:
        return (self.form(name),)


def _of_all(parts: Callable[[str], Iterable[str]], sets: Iterable[Iterable[str]]) -> Iterator[set[str]]:
    """The parts of the names of each set."""
    return ({part for name in names for part in parts(name)} for names in sets)


def _no_parts(_: str) -> tuple[str, ...]:
    return ()
