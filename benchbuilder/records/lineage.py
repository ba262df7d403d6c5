"""The lineage of rows that are made of two rows each, by the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.records.ids import column

_compute: Any = pc


def joined(parents: pa.Table, others: pa.Table) -> pa.Array[Any]:
    """The ancestors of rows made of a line of `parents` and the line of `others` beside it, as `Row.child` has them.

    These are the two, then those of the one, then those of the other, each once.
    """
    count = parents.num_rows
    lists: list[Any] = [column(table, "parents") for table in (parents, others)]
    sizes = [_compute.list_value_length(one).to_numpy(zero_copy_only=False).astype(np.int64) for one in lists]
    values: Any = pa.concat_arrays([*(column(table, "id") for table in (parents, others)),
                                    *(one.flatten() for one in lists)])  # fmt: skip
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(sizes[0] + sizes[1] + 2, out=starts[1:])
    places = np.empty(int(starts[-1]), np.int64)
    places[starts[:-1]] = np.arange(count)
    places[starts[:-1] + 1] = count + np.arange(count)
    first, at = 2 * count, starts[:-1] + 2
    for size in sizes:
        before = np.cumsum(size) - size
        running = np.arange(int(size.sum()))
        places[np.repeat(at - before, size) + running] = first + running
        first, at = first + len(running), at + size
    return _each_once(values.take(pa.array(places)), starts)


def _each_once(values: Any, starts: np.ndarray[Any, Any]) -> pa.Array[Any]:
    """The lists of values that begin at `starts`, without what stands in a list before."""
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    _, kept = np.unique(rows * (len(codes) + 1) + codes, return_index=True)
    if len(kept) < len(codes):
        kept.sort()
        values = values.take(pa.array(kept))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(rows[kept], minlength=len(starts) - 1))])
    offsets: Any = pa.array(starts.astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values)
