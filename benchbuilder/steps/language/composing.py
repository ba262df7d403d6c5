"""Columns of texts in the form in which they are compared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Fold, comparison_key, compose_characters, fold_text

_compute: Any = pc
_OTHER = np.ones(256, bool)
_OTHER[:0xC0] = _OTHER[0xE4:0xEA] = False
"""Bytes with which a character begins that is neither ASCII nor one of U+4000 to U+9FFF.

Of these no character is part of a longer one: a text of nothing else is composed.
"""
_BLOCK = 1 << 18
_SPACE = ord(" ")
"""No byte above is ASCII's white space; that of all other scripts begins with one of `_OTHER`."""


def to_comparison_form(texts: pa.Array[Any], fold: Collection[Fold] = ()) -> pa.Array[Any]:
    """Each text as `text.normalise.fold_text` gives it."""
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
    """Each text composed, without white space at its ends; a text that is missing stays so."""
    column: Any = texts
    written, ends = _text_bytes(column)
    marked = _texts_with_marks(_OTHER, written, ends)
    starts, ends = ends[:-1], ends[1:]
    some = starts < ends
    marked[some] |= (written[starts[some]] <= _SPACE) | (written[ends[some] - 1] <= _SPACE)
    if not marked.any():
        return column
    mask: Any = pa.array(marked)
    bare = [None if text is None else compose_characters(text.strip()) for text in column.filter(mask).to_pylist()]
    return _compute.replace_with_mask(column, mask, pa.array(bare, pa.string()))


def comparison_keys(texts: pa.Array[Any], ignore: str) -> pa.Array[Any]:
    """Each text as `text.answers.comparison_key` gives it."""
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
    """The bytes of a column of texts, and where each text begins among them; the last number is their end."""
    if not len(column):
        return np.zeros(0, np.uint8), np.zeros(1, np.int32)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8)[int(ends[0]) : int(ends[-1])], ends - ends[0]


def _has_uncommon_bytes(written: Any) -> bool:
    """Whether any byte is one of `_OTHER`: told block by block, in a few of the processor's wide steps."""
    for start in range(0, len(written), _BLOCK):
        lead = written[start : start + _BLOCK] - np.uint8(0xC0)  # from C0 on, bytes begin a character of several
        if ((lead < 0xE4 - 0xC0) | (lead - np.uint8(0xEA - 0xC0) < 0x100 - 0xEA)).any():
            return True
    return False


def _texts_with_marks(marks: Any, written: Any, ends: Any) -> Any:
    """Which texts hold a byte of `marks`."""
    marked = np.zeros(len(ends) - 1, bool)
    marked[np.searchsorted(ends, np.flatnonzero(marks[written]), side="right") - 1] = True
    return marked
