"""Which words of a list stand in many texts, found in all of them at one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_BLOCK = 1 << 20
"""How many characters are looked through at one go."""
_SLOTS = 1 << 20
_SPREAD = np.uint32(2_654_435_761)


class Scanner:
    """Finds every one of `keys` in texts, overlapping ones and keys inside keys too; keys are numbered by their place.

    Texts are searched as they are: who wants to fold folds both. A key without any character is found nowhere.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        common = Counter(key[at : at + 2] for key in set(keys) for at in range(max(len(key) - 1, 1)))
        self._by_piece: dict[int, list[tuple[str, int, int]]] = {}
        for number, key in enumerate(keys):
            if not key:
                continue
            at = min(range(max(len(key) - 1, 1)), key=lambda at: common[key[at : at + 2]])
            self._by_piece.setdefault(_code(key[at : at + 2]), []).append((key, number, at))
        pieces = np.array(sorted(self._by_piece), np.uint64)
        self._singles = pieces[pieces >> np.uint64(32) == 0].astype(np.uint32)
        self._pairs = pieces[pieces >> np.uint64(32) != 0]
        self._slots = np.zeros(_SLOTS, bool)
        first, second = (self._pairs >> np.uint64(32)) - np.uint64(1), self._pairs & np.uint64(0xFFFFFFFF)
        self._slots[_slot(first.astype(np.uint32), second.astype(np.uint32))] = True

    def scan(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Text and key of each place where a key stands, as two integer arrays; a pair may stand twice."""
        found = [pair for start, stop in _blocks(texts) for pair in self._block(texts[start:stop], start)]
        both = np.array(found, dtype=np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def _block(self, texts: Sequence[str], first: int) -> Iterator[tuple[int, int]]:
        joined = "\n".join(texts)
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
        lengths = np.array([len(text) for text in texts], np.int64)
        ends = np.cumsum(lengths + 1)
        for places, pieces in self._candidates(codes):
            of_text = np.searchsorted(ends, places, side="right")
            stops = ends[of_text] - 1
            columns = (places, pieces, of_text, stops - lengths[of_text], stops)
            for place, piece, text, begin, stop in zip(*(column.tolist() for column in columns), strict=True):
                for key, number, at in self._by_piece[piece]:
                    if place - at >= begin and joined.startswith(key, place - at, stop):
                        yield first + text, number

    def _candidates(self, codes: Any) -> Iterator[tuple[Any, Any]]:
        """The places where a piece of a key stands, and the code of the piece."""
        if len(self._singles):
            places = np.flatnonzero(np.isin(codes, self._singles))
            yield places, codes[places].astype(np.uint64)
        if len(self._pairs):
            places = np.flatnonzero(self._slots[_slot(codes[:-1], codes[1:])])
            pieces = (codes[places].astype(np.uint64) + np.uint64(1) << np.uint64(32)) | codes[places + 1]
            there = np.isin(pieces, self._pairs)
            yield places[there], pieces[there]


def _code(piece: str) -> int:
    """A number for one or two characters."""
    return ord(piece) if len(piece) == 1 else (ord(piece[0]) + 1) << 32 | ord(piece[1])


def _slot(first: Any, second: Any) -> Any:
    return ((first * np.uint32(31) + second) * _SPREAD) >> np.uint32(12)


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The texts cut into runs of about `_BLOCK` characters."""
    start = size = 0
    for at, text in enumerate(texts):
        size += len(text) + 1
        if size >= _BLOCK:
            yield start, at + 1
            start, size = at + 1, 0
    if start < len(texts):
        yield start, len(texts)
