"""Texts of an Arrow column, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa

_SLICE_ROWS = 4096


class LazyTexts(Sequence[str]):
    """The texts at `positions` (rising) of a column; all of them without `positions`.

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
        if not isinstance(index, slice):
            return str(self._column[int(self._places[index])].as_py())
        places = self._places[index]
        return self._slice(places).to_pylist()

    def encoded(self, start: int, stop: int) -> tuple[bytes, np.ndarray[Any, np.dtype[np.int64]]]:
        """A slice of the texts as UTF-8, and how many bytes each of them has."""
        whole: Any = self._slice(self._places[start:stop])
        whole = pa.concat_arrays(whole.chunks or [pa.array([], pa.string())])
        _, offsets, data = whole.buffers()
        if not len(whole):
            return b"", np.zeros(0, np.int64)
        ends = np.frombuffer(offsets, np.int32)[whole.offset : whole.offset + len(whole) + 1].astype(np.int64)
        return memoryview(data or b"")[ends[0] : ends[-1]].tobytes(), np.diff(ends)

    def _slice(self, places: np.ndarray[Any, Any] | range) -> Any:
        if isinstance(places, range) and places.step == 1:
            return self._column.slice(places.start, len(places))
        chosen: Any = pa.array(np.asarray(places), pa.int64())
        return self._column.take(chosen)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _SLICE_ROWS):
            yield from self[start : start + _SLICE_ROWS]


def take_rows(table: pa.Table, positions: np.ndarray[Any, Any]) -> pa.Table:
    """The lines of a table at `positions`, in that order; only the chunks that hold them are read."""
    wanted, back = np.unique(positions, return_inverse=True)
    batches = table.to_batches()
    ends = np.cumsum([batch.num_rows for batch in batches], dtype=np.int64)
    pieces = [table.schema.empty_table()]
    start = 0
    for batch, end in zip(batches, ends, strict=True):
        low, high = np.searchsorted(wanted, [start, end])
        if high > low:
            there: Any = pa.array(wanted[low:high] - start, pa.int64())
            pieces.append(pa.Table.from_batches([batch.take(there)]))
        start = int(end)
    order: Any = pa.array(back.reshape(-1), pa.int64())
    return pa.concat_tables(pieces).combine_chunks().take(order)


def texts_once(column: Any) -> list[Any]:
    """The values of a column in one piece, of which equal ones are one object."""
    encoded = column.dictionary_encode()
    different: list[Any] = encoded.dictionary.to_pylist()
    return [different[code] for code in encoded.indices.to_numpy().tolist()]
