"""Which n-grams each text of a list contains, as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import LengthUnit, compose_characters, split_characters, to_half_width

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class NgramTable:
    """The n-grams of texts: text ``texts[i]`` contains n-gram ``grams[i]``, each pair once, sorted by text.

    `codes` describes each n-gram: its tokens as numbers of `vocabulary`, in the base of its size plus one.
    """

    texts: NDArray[np.int32]
    grams: NDArray[np.int32]
    codes: Indices
    vocabulary: tuple[str, ...]
    joiner: str

    @property
    def size(self) -> int:
        """The number of different n-grams."""
        return len(self.codes)

    def name(self, gram: int) -> str:
        """The text of an n-gram."""
        tokens, rest, base = list[str](), int(self.codes[gram]), len(self.vocabulary) + 1
        while rest:
            rest, token = divmod(rest, base)
            tokens.append(self.vocabulary[token - 1])
        return self.joiner.join(reversed(tokens))


def find_ngrams(texts: Iterable[str], unit: LengthUnit, longest: int = 3, least: int = 1) -> NgramTable:
    """The n-grams of up to `longest` characters (or words) of each text, of which at least `least` texts have each.

    Case, width and white space do not count. No n-gram of characters crosses white space.

    >>> table = find_ngrams(["a b", "B c"], "words", 2)
    >>> [(int(text), table.name(gram)) for text, gram in zip(table.texts, table.grams)]
    [(0, 'a'), (0, 'b'), (0, 'a b'), (1, 'b'), (1, 'c'), (1, 'b c')]
    """
    numbered, known = _number_texts(texts, unit, longest)
    codes = _frequent_codes(numbered, least)
    counts, owners, grams = np.zeros(len(codes), np.int64), [_NONE], [_NONE]
    for some, places in (_numbered_pairs(codes, *window) for window in numbered.windows()):
        counts += np.bincount(places, minlength=len(codes))
        owners.append(some.astype(np.int32))
        grams.append(places.astype(np.int32))
    enough = counts >= least
    numbers = np.cumsum(enough) - 1
    pairs = np.empty((2, int(counts[enough].sum())), np.int32)
    start = 0
    while grams:  # a part is given back once it is copied
        some, held = owners.pop(0), grams.pop(0)
        kept = enough[held]
        end = start + int(kept.sum())
        pairs[0, start:end], pairs[1, start:end] = some[kept], numbers[held[kept]]
        start = end
    return NgramTable(pairs[0], pairs[1], codes[enough], known, " " if unit == "words" else "")


class NgramNumbers:
    """The n-grams of up to `longest` characters (or words) of many texts as numbers; see `find_ngrams`.

    The tokens and the different n-grams are held, not which text has which.

    >>> [grams.tolist() for grams in NgramNumbers(["a b", "B c"], "words", 2).between(0, 2)]
    [[0, 0, 0, 1, 1, 1], [0, 1, 3, 1, 2, 4]]
    """

    def __init__(self, texts: Iterable[str], unit: LengthUnit, longest: int = 3) -> None:
        self._numbered = _number_texts(texts, unit, longest)[0]
        self._codes = _frequent_codes(self._numbered, 1)

    @property
    def size(self) -> int:
        """The number of different n-grams."""
        return len(self._codes)

    def between(self, first: int, stop: int) -> tuple[Indices, Indices]:
        """The n-grams of the texts from `first` to before `stop`: of each pair the text and the n-gram, sorted."""
        return _numbered_pairs(self._codes, *self._numbered.codes_between(first, stop))


def _numbered_pairs(codes: Indices, texts: Indices, found: Indices) -> tuple[Indices, Indices]:
    """Each pair of a text and an n-gram of `codes` once, sorted; the number of an n-gram is its place there."""
    different, back = np.unique(found, return_inverse=True)
    places = np.searchsorted(codes, different)
    there = places < len(codes)
    there[there] = codes[places[there]] == different[there]
    held = there[back]
    keys = np.unique(texts[held] * max(1, len(codes)) + places[back[held]])
    return np.divmod(keys, max(1, len(codes)))


_NONE: Any = np.zeros(0, np.int32)
_WINDOW = 1 << 18
"""About so many tokens are looked at together."""
_MOST_BITS = 25
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class _NumberedTexts:
    """Texts as the numbers of their tokens, below `base`; text ``i`` begins at ``starts[i]``."""

    tokens: NDArray[np.int32]
    starts: Indices
    base: int
    longest: int

    def windows(self) -> Iterator[tuple[Indices, Indices]]:
        """The codes of all n-grams and the texts that have them, some texts after the other."""
        first, count = 0, len(self.starts) - 1
        while first < count:
            stop = int(np.searchsorted(self.starts, self.starts[first] + _WINDOW, side="right")) - 1
            stop = max(first + 1, min(stop, count))
            yield self.codes_between(first, stop)
            first = stop

    def codes_between(self, first: int, stop: int) -> tuple[Indices, Indices]:
        """The codes of all n-grams of some texts, and the texts that have them."""
        tokens = self.tokens[self.starts[first] : self.starts[stop]].astype(np.int64)
        owners = np.repeat(np.arange(first, stop), np.diff(self.starts[first : stop + 1]))
        parts: list[tuple[Indices, Indices]] = [(_NONE.astype(np.int64), _NONE.astype(np.int64))]
        codes, whole = np.zeros_like(tokens), np.ones(len(tokens), bool)
        for length in range(1, min(self.longest, len(tokens)) + 1):
            last = tokens[length - 1 :]
            codes = codes[: len(last)] * self.base + last
            whole = whole[: len(last)] & (last > 0) & (owners[: len(last)] == owners[length - 1 :])
            parts.append((owners[: len(last)][whole], codes[whole]))
        return np.concatenate([texts for texts, _ in parts]), np.concatenate([found for _, found in parts])


def _frequent_codes(numbered: _NumberedTexts, least: int) -> Indices:
    """The codes of all n-grams that at least `least` texts have, and of a few others: a sieve counts by hash."""
    bits = min(_MOST_BITS, (numbered.longest * len(numbered.tokens)).bit_length() + 1)
    sieve = np.zeros(1 << bits if least > 1 else 0, np.int32)

    def slot(codes: Indices) -> Indices:
        return (codes.astype(np.uint64) * _MIXER >> np.uint64(64 - bits)).astype(np.int64)

    for _, codes in numbered.windows() if least > 1 else ():
        np.add.at(sieve, slot(codes), 1)
    frequent, waiting = list[Indices]([np.zeros(0, np.int64)]), 0
    for _, codes in numbered.windows():
        frequent.append(np.unique(codes[sieve[slot(codes)] >= least] if least > 1 else codes))
        waiting += len(frequent[-1])
        if waiting > max(len(frequent[0]), _WINDOW):
            frequent, waiting = [np.unique(np.concatenate(frequent))], 0
    return np.unique(np.concatenate(frequent))


def _number_texts(texts: Iterable[str], unit: LengthUnit, longest: int) -> tuple[_NumberedTexts, tuple[str, ...]]:
    """The tokens of all texts as numbers from 1 (0: white space), and the tokens in the order of their numbers."""
    known: dict[str, int] = {}
    numbers, starts = array("i"), array("q", [0])
    for text in texts:
        plain = to_half_width(compose_characters(text)).casefold()
        words = plain.split()
        if unit == "words":
            numbers.extend([known.setdefault(word, len(known) + 1) for word in words])
        else:
            for word in words:
                numbers.extend([known.setdefault(token, len(known) + 1) for token in split_characters(word)])
                numbers.append(0)
        starts.append(len(numbers))
    base = len(known) + 1
    if base**longest >= 2**63:
        raise ValueError(f"{len(known)} different tokens are too many for n-grams of {longest}")
    tokens, places = np.frombuffer(numbers, np.int32), np.frombuffer(starts, np.int64)
    return _NumberedTexts(tokens, places, base, longest), tuple(known)
