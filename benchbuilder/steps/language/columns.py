"""Arrow columns of texts: their comparison forms, and a search for many words at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Fold, comparison_key, compose_characters, fold_text

_compute: Any = pc
_OTHER = np.ones(256, bool)
_OTHER[:0xC0] = _OTHER[0xE4:0xEA] = False
"""First bytes of characters other than ASCII and U+4000 to U+9FFF.

No character outside this set combines with another one: a text without these bytes is composed.
"""
_BLOCK_BYTES = 1 << 18
_SPACE = ord(" ")
"""The last ASCII white space; that of all other scripts begins with one of `_OTHER`."""


def to_comparison_form(texts: pa.Array[Any], fold: Collection[Fold] = ()) -> pa.Array[Any]:
    """Each text as `fold_text` returns it."""
    column: Any = texts
    if fold:
        encoded = column.dictionary_encode()
        values = pa.array([fold_text(text, fold) for text in encoded.dictionary.to_pylist()], pa.string())
        return values.take(encoded.indices)
    written, ends = _text_bytes(column)
    if not _has_uncommon_bytes(written):
        return column
    mask = pa.array(_texts_with_marks(_OTHER, written, ends))
    composed = _compute.utf8_normalize(column.filter(mask), form="NFC")
    return _compute.replace_with_mask(column, mask, composed)


def strip_texts(texts: pa.Array[Any]) -> pa.Array[Any]:
    """Each text, composed and without white space at its ends; missing texts stay missing."""
    column: Any = texts
    written, ends = _text_bytes(column)
    marked = _texts_with_marks(_OTHER, written, ends)
    starts, ends = ends[:-1], ends[1:]
    filled = starts < ends
    marked[filled] |= (written[starts[filled]] <= _SPACE) | (written[ends[filled] - 1] <= _SPACE)
    if not marked.any():
        return column
    mask: Any = pa.array(marked)
    bare = [None if text is None else compose_characters(text.strip()) for text in column.filter(mask).to_pylist()]
    return _compute.replace_with_mask(column, mask, pa.array(bare, pa.string()))


def comparison_keys(texts: pa.Array[Any], ignore: str) -> pa.Array[Any]:
    """Each text as `comparison_key` returns it."""
    column: Any = texts
    marks = _OTHER.copy()
    marks[: _SPACE + 1] = marks[ord("A") : ord("Z") + 1] = marks[[ord(mark) for mark in "-.~"]] = True
    marks[[mark.encode()[0] for mark in ignore]] = True
    marked = _texts_with_marks(marks, *_text_bytes(column))
    if not marked.any():
        return column
    mask: Any = pa.array(marked)
    encoded = column.filter(mask).dictionary_encode()
    keys = pa.array([comparison_key(text, ignore) for text in encoded.dictionary.to_pylist()], pa.string())
    return _compute.replace_with_mask(column, mask, keys.take(encoded.indices))


def _text_bytes(column: Any) -> tuple[Any, Any]:
    """The bytes of a column of texts, and the start of each text in them; the last number is their end."""
    if not len(column):
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8)[int(ends[0]) : int(ends[-1])], ends - ends[0]


def _has_uncommon_bytes(written: Any) -> bool:
    """Whether any byte is one of `_OTHER`, block by block with few vector operations."""
    for start in range(0, len(written), _BLOCK_BYTES):
        lead = written[start : start + _BLOCK_BYTES] - np.uint8(0xC0)  # from C0 on, bytes begin a longer character
        if ((lead < 0xE4 - 0xC0) | (lead - np.uint8(0xEA - 0xC0) < 0x100 - 0xEA)).any():
            return True
    return False


def _texts_with_marks(marks: Any, written: Any, ends: Any) -> Any:
    """Which texts contain a byte of `marks`."""
    marked = np.zeros(len(ends) - 1, bool)
    marked[np.searchsorted(ends, np.flatnonzero(marks[written]), side="right") - 1] = True
    return marked


_BLOCK = 1 << 20
"""Characters that are searched at once."""
_SLOTS = 1 << 20
_SPREAD = np.uint32(2_654_435_761)


class Scanner:
    """Finds all of `keys` in texts, also overlapping ones and keys inside keys; keys are numbered by position.

    Texts are not folded: fold both texts and keys if needed. An empty key is never found.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        common = Counter(key[start : start + 2] for key in set(keys) for start in range(max(len(key) - 1, 1)))
        self._by_piece: dict[int, list[tuple[str, int, int]]] = {}
        for number, key in enumerate(keys):
            if not key:
                continue
            start = min(range(max(len(key) - 1, 1)), key=lambda start: common[key[start : start + 2]])
            self._by_piece.setdefault(_code(key[start : start + 2]), []).append((key, number, start))
        pieces = np.array(sorted(self._by_piece), np.uint64)
        self._singles = pieces[pieces >> np.uint64(32) == 0].astype(np.uint32)
        self._pairs = pieces[pieces >> np.uint64(32) != 0]
        self._slots = np.zeros(_SLOTS, bool)
        first, second = (self._pairs >> np.uint64(32)) - np.uint64(1), self._pairs & np.uint64(0xFFFFFFFF)
        self._slots[_slot(first.astype(np.uint32), second.astype(np.uint32))] = True

    def scan(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """The numbers of text and key for each occurrence, as two integer arrays; a pair may occur twice."""
        pairs = [pair for start, stop in _blocks(texts) for pair in self._scan_block(texts[start:stop], start)]
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]

    def _scan_block(self, texts: Sequence[str], first: int) -> Iterator[tuple[int, int]]:
        joined = "\n".join(texts)
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
        lengths = np.array([len(text) for text in texts], np.int64)
        ends = np.cumsum(lengths + 1)
        for places, pieces in self._candidates(codes):
            of_text = np.searchsorted(ends, places, side="right")
            stops = ends[of_text] - 1
            columns = (places, pieces, of_text, stops - lengths[of_text], stops)
            for place, piece, text, begin, stop in zip(*(column.tolist() for column in columns), strict=True):
                for key, number, start in self._by_piece[piece]:
                    if place - start >= begin and joined.startswith(key, place - start, stop):
                        yield first + text, number

    def _candidates(self, codes: Any) -> Iterator[tuple[Any, Any]]:
        """The positions of pieces of keys, and the codes of the pieces."""
        if len(self._singles):
            places = np.flatnonzero(np.isin(codes, self._singles))
            yield places, codes[places].astype(np.uint64)
        if len(self._pairs):
            places = np.flatnonzero(self._slots[_slot(codes[:-1], codes[1:])])
            pieces = (codes[places].astype(np.uint64) + np.uint64(1) << np.uint64(32)) | codes[places + 1]
            matches = np.isin(pieces, self._pairs)
            yield places[matches], pieces[matches]


def _code(piece: str) -> int:
    """A number for one or two characters."""
    return ord(piece) if len(piece) == 1 else (ord(piece[0]) + 1) << 32 | ord(piece[1])


def _slot(first: Any, second: Any) -> Any:
    return ((first * np.uint32(31) + second) * _SPREAD) >> np.uint32(12)


def _blocks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The texts in runs of about `_BLOCK` characters."""
    start = size = 0
    for stop, text in enumerate(texts, 1):
        size += len(text) + 1
        if size >= _BLOCK:
            yield start, stop
            start, size = stop, 0
    if start < len(texts):
        yield start, len(texts)
