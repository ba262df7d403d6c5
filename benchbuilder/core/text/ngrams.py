"""Which n-grams each text of a list contains, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.text.lengths import LengthUnit, split_characters
from benchbuilder.core.text.normalise import compose_characters, to_half_width

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class NgramTable:
    """The n-grams of texts: text ``texts[i]`` contains n-gram ``grams[i]``, each pair once, sorted by text.

    `codes` describes each n-gram: its tokens as numbers of `vocabulary`, in the base of its size plus one.
    """

    texts: Indices
    grams: Indices
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


def find_ngrams(texts: Iterable[str], unit: LengthUnit, longest: int = 3) -> NgramTable:
    """The n-grams of up to `longest` characters (or words) of each text.

    Case, width and white space do not count. No n-gram of characters crosses white space.

    >>> table = find_ngrams(["a b", "B c"], "words", 2)
    >>> [(int(text), table.name(gram)) for text, gram in zip(table.texts, table.grams)]
    [(0, 'a'), (0, 'b'), (0, 'a b'), (1, 'b'), (1, 'c'), (1, 'b c')]
    """
    tokens, owners, known = _number_tokens(texts, unit)
    base = len(known) + 1
    if base**longest >= 2**63:
        raise ValueError(f"{len(known)} different tokens are too many for n-grams of {longest}")
    parts: list[tuple[Indices, Indices]] = []
    codes = np.zeros_like(tokens)
    whole = np.ones(len(tokens), bool)
    for length in range(1, longest + 1):
        if length > len(tokens):
            break
        last = tokens[length - 1 :]
        codes = codes[: len(last)] * base + last
        whole = whole[: len(last)] & (last > 0) & (owners[: len(last)] == owners[length - 1 :])
        parts.append((owners[: len(last)][whole], codes[whole]))
    texts_of, all_codes = (np.concatenate([part[at] for part in parts] or [np.zeros(0, np.int64)]) for at in (0, 1))
    distinct, grams = np.unique(all_codes, return_inverse=True)
    pairs: Any = np.unique(texts_of * max(1, len(distinct)) + grams)
    owners_of, grams_of = np.divmod(pairs, max(1, len(distinct)))
    return NgramTable(owners_of, grams_of, distinct, tuple(known), " " if unit == "words" else "")


def _number_tokens(texts: Iterable[str], unit: LengthUnit) -> tuple[Indices, Indices, dict[str, int]]:
    """The tokens of all texts as numbers from 1 (0: white space), the text of each, and the number of each token."""
    known: dict[str, int] = {}
    numbers, sizes = list[int](), list[int]()
    for text in texts:
        plain = to_half_width(compose_characters(text)).casefold()
        words = plain.split()
        begin = len(numbers)
        if unit == "words":
            numbers += [known.setdefault(word, len(known) + 1) for word in words]
        else:
            for word in words:
                numbers += [known.setdefault(token, len(known) + 1) for token in split_characters(word)]
                numbers.append(0)
        sizes.append(len(numbers) - begin)
    return np.array(numbers, np.int64), np.repeat(np.arange(len(sizes)), sizes), known
