"""Puts the rows of a table in another order; those of a large one go through files, each with the rows of a window."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import Table, schema_of, take_rows

_WINDOW_ROWS, _WINDOW_BYTES = 16_384, 16_000_000
"""The most rows that are held at a time, and about the most bytes of them; as objects they take several times that."""

_FEW_WINDOWS, _MOST_FILES = 4, 400
"""Rows of so many windows are put in order in memory; more go through files, of which so many are open at most."""


def window_rows(table: Table[Any]) -> int:
    """How many rows of a table are held at a time."""
    return max(1, min(_WINDOW_ROWS, _WINDOW_BYTES * len(table) // max(table.nbytes, 1)))


def windows_in_order(table: Table[Any], positions: NDArray[np.int64], folder: Path) -> Iterator[Table[Any]]:
    """The rows at `positions`, which name no row twice, in that order and some at a time.

    The rows of a large table go through files in `folder`, which are removed.
    """
    count, size = len(positions), window_rows(table)
    if len(table) > _FEW_WINDOWS * size:
        yield from _shuffled_windows(table, positions, max(size, -(-count // _MOST_FILES)), folder)
    else:
        for start in range(0, count, size):
            yield Table(take_rows(table.arrow, positions[start : start + size]), table.row)


def _shuffled_windows(table: Table[Any], positions: NDArray[np.int64], size: int, folder: Path) -> Iterator[Table[Any]]:
    """The rows, `size` at a time: the table is read once from its beginning to its end.

    The files are in `folder` until the last window was made.
    """
    places = np.full(len(table), -1, np.int64)
    places[positions] = np.arange(len(positions))
    files, schema = places // size, schema_of(table.row)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        paths = [Path(temporary) / f"{number}.arrow" for number in range(-(-len(positions) // size))]
        with contextlib.ExitStack() as stack:
            writers = [stack.enter_context(pa.ipc.new_stream(str(path), schema)) for path in paths]
            for start, window in table.windows():
                own = files[start : start + len(window)]
                order = np.argsort(own, kind="stable")
                rows, edges = window.arrow.take(_indices(order)), np.searchsorted(own[order], np.arange(len(paths) + 1))
                for number in np.flatnonzero(np.diff(edges)).tolist():
                    begin, end = int(edges[number]), int(edges[number + 1])
                    writers[number].write_table(rows.slice(begin, end - begin))
        for number, path in enumerate(paths):
            with pa.OSFile(str(path), "rb") as file:
                held = pa.ipc.open_stream(file).read_all().combine_chunks()
            path.unlink()
            yield Table(held.take(_indices(np.argsort(places[files == number]))), table.row)


def _indices(positions: NDArray[np.int64]) -> Any:
    return pa.array(positions, pa.int64())
