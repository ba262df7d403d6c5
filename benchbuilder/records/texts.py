"""Texts of an Arrow column, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

_AT_ONCE = 4096


class Texts(Sequence[str]):
    """The texts at `places` (rising) of a column; all of them without `places`.

    Nothing is copied: a column that is memory-mapped is read from its file text by text, or slice by slice.
    """

    def __init__(self, column: pa.ChunkedArray[Any], places: np.ndarray[Any, Any] | range | None = None) -> None:
        self._column = column
        self._places = range(len(column)) if places is None else places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        places = self._places[index]
        if not isinstance(index, slice):
            return str(self._column[int(places)].as_py())  # pyright: ignore[reportArgumentType]
        if isinstance(places, range) and places.step == 1:
            return self._column.slice(places.start, len(places)).to_pylist()
        return self._column.take(pa.array(np.asarray(places), pa.int64())).to_pylist()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self[start : start + _AT_ONCE]


def taken(table: pa.Table, places: np.ndarray[Any, Any]) -> pa.Table:
    """The lines of a table at `places`, in that order; only the chunks that hold them are read."""
    wanted, back = np.unique(places, return_inverse=True)
    batches = table.to_batches()
    ends = np.cumsum([batch.num_rows for batch in batches], dtype=np.int64)
    pieces = [table.schema.empty_table()]
    start = 0
    for batch, end in zip(batches, ends, strict=True):
        low, high = np.searchsorted(wanted, [start, end])
        if high > low:
            pieces.append(pa.Table.from_batches([batch.take(pa.array(wanted[low:high] - start))]))
        start = int(end)
    return pa.concat_tables(pieces).combine_chunks().take(pa.array(back.reshape(-1)))
