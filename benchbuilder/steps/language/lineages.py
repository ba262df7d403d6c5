"""The ancestors of rows that are made of several rows, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core import combined_column

_compute: Any = pc
_Lists = tuple[NDArray[np.int64], Any]
"""Lists: how long each is, and the values of all."""


def joined_ancestors(parents: pa.Table, *others: pa.Table, counts: NDArray[np.int64] | None = None) -> pa.Array[Any]:
    """The ancestors of rows made of lines of `parents` and `others`, as in `Row.child`.

    These are all parents, then the ancestors of each of them in that order, each once. A row has the line of `others`
    at its own position; with `counts`, so many lines of the only one, which follow each other.
    """
    ones = np.ones(parents.num_rows, np.int64)
    sizes = [ones, *(ones if counts is None else counts for _ in others)]
    tables = (parents, *others)
    ids: list[_Lists] = [(size, combined_column(table, "id")) for size, table in zip(sizes, tables, strict=True)]
    before = [_regrouped(combined_column(table, "parents"), size) for size, table in zip(sizes, tables, strict=True)]
    return _each_once(*_concatenated([*ids, *before]))


def joined_lists(*columns: Any) -> pa.Array[Any]:
    """The lists of several columns, one after the other in each line, with each value once."""
    sizes = (_compute.list_value_length(lists).to_numpy().astype(np.int64) for lists in columns)
    return _each_once(*_concatenated([(size, lists.flatten()) for size, lists in zip(sizes, columns, strict=True)]))


def _regrouped(lists: Any, sizes: NDArray[np.int64]) -> _Lists:
    """Lists of which some that follow each other, as many as `sizes` says, become one."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(_compute.list_value_length(lists).to_numpy())])
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return np.diff(ends[edges]), lists.flatten()


def _concatenated(parts: Sequence[_Lists]) -> tuple[Any, NDArray[np.int64]]:
    """The lists of several columns, one after the other in each line: their values, and where each line begins."""
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sum(sizes for sizes, _ in parts))])
    places = np.empty(int(starts[-1]), np.int64)
    first, at = 0, starts[:-1]
    for sizes, values in parts:
        running = np.arange(len(values))
        places[np.repeat(at - (np.cumsum(sizes) - sizes), sizes) + running] = first + running
        first, at = first + len(values), at + sizes
    return pa.concat_arrays([values for _, values in parts]).take(pa.array(places, pa.int64())), starts


def _each_once(values: Any, starts: np.ndarray[Any, Any]) -> pa.Array[Any]:
    """The lists of values that begin at `starts`, without duplicates within a list."""
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _, kept = np.unique(rows * (len(codes) + 1) + codes, return_index=True)
    if len(kept) < len(codes):
        kept.sort()
        values = values.take(pa.array(kept))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(rows[kept], minlength=len(starts) - 1))])
    offsets: Any = pa.array(starts.astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values)
