"""N-grams of many texts at once, as sparse features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from benchbuilder.core import LengthUnit
from benchbuilder.evaluation.audit.features import ViewFeatures

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}]")
_BITS = 21
"""Bits of one code: enough for every character, and for two million words."""
_LONGEST = 3
_SEPARATED = 0.1
"""Proportion of white space from which on the words of texts count as separated."""

Codes = NDArray[np.int64]


def guess_unit(texts: Sequence[str]) -> LengthUnit:
    """``words`` if the texts separate their words by spaces.

    >>> guess_unit(["Is milk good for babies?"])
    'words'
    """
    joined = "".join(texts[:2000])
    return "words" if joined and sum(map(str.isspace, joined)) / len(joined) >= _SEPARATED else "characters"


def ngram_rows(texts: Sequence[str], unit: LengthUnit, longest: int = _LONGEST) -> ViewFeatures:
    """Which n-grams of 1 to `longest` units (3 at most) each text has; n-grams of a single text are left out."""
    codes, lengths, vocabulary = _coded([text.casefold() for text in texts], unit)
    owners = np.repeat(np.arange(len(texts)), lengths)
    parts = [_ngrams(codes, owners, size) for size in range(1, longest + 1)]
    keys = np.concatenate([key for key, _ in parts])
    rows = np.concatenate([owner for _, owner in parts])
    known, places = np.unique(keys, return_inverse=True)
    entries = np.unique(rows * max(len(known), 1) + places)
    rows, places = np.divmod(entries, max(len(known), 1))
    shared = np.bincount(places, minlength=len(known)) > 1
    chosen = shared[places]
    rows, places, known = rows[chosen], (np.cumsum(shared) - 1)[places[chosen]], known[shared]
    names = _names(known, vocabulary)
    if vocabulary is not None:  # the keys of characters ascend like their texts; those of words by first occurrence
        order = np.argsort(np.array(names, np.str_), kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        places = rank[places]
        places = places[np.lexsort((places, rows))]
        names = [names[place] for place in order.tolist()]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(texts)))]).astype(np.int64)
    return ViewFeatures(indptr, places, np.ones(len(places)), tuple(names))


def _coded(texts: Sequence[str], unit: LengthUnit) -> tuple[Codes, Codes, list[str] | None]:
    """All units of the texts as numbers from 1, how many each text has, and the words by number."""
    if unit == "characters":
        bare = ["".join(text.split()) for text in texts]
        codes = np.frombuffer("".join(bare).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64) + 1
        return codes, np.array([len(text) for text in bare], np.int64), None
    numbers: dict[str, int] = {}
    tokens = [[numbers.setdefault(word, len(numbers) + 1) for word in _WORD.findall(text)] for text in texts]
    codes = np.array([number for found in tokens for number in found], np.int64)
    return codes, np.array([len(found) for found in tokens], np.int64), ["", *numbers]


def _ngrams(codes: Codes, owners: Codes, size: int) -> tuple[Codes, Codes]:
    """The key of every n-gram of `size` units inside one text, and the place of that text.

    A key is the codes of three units side by side, the first in front; the missing ones are 0.
    """
    count = len(codes) - size + 1
    if count <= 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = np.zeros(count, np.int64)
    for place in range(size):
        keys = (keys << _BITS) | codes[place : place + count]
    inside = owners[:count] == owners[size - 1 :]
    keys <<= _BITS * (_LONGEST - size)
    return keys[inside], owners[:count][inside]


def _names(keys: Codes, vocabulary: list[str] | None) -> list[str]:
    if vocabulary is None:
        return _characters(keys)
    mask = (1 << _BITS) - 1
    return [
        " ".join(vocabulary[code] for shift in (2, 1, 0) if (code := (key >> (shift * _BITS)) & mask))
        for key in keys.tolist()
    ]


def _characters(keys: Codes) -> list[str]:
    """The characters of each key."""
    codes = (keys[:, None] >> np.array([2, 1, 0]) * _BITS) & ((1 << _BITS) - 1)
    text = (codes[codes > 0] - 1).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    ends = np.cumsum((codes > 0).sum(axis=1)).tolist()
    return [text[start:end] for start, end in pairwise([0, *ends])]
