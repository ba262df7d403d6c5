"""Puts the rows of a large table in another order, through files, each of which holds the rows of one window."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbuilder.core import Table, schema_of


def shuffled_windows(table: Table[Any], positions: NDArray[np.int64], size: int, folder: Path) -> Iterator[Table[Any]]:
    """The rows at `positions`, which name each row once, in that order and `size` at a time.

    The table is read once from its beginning to its end. The files are in `folder` until the last window was made.
    """
    places = np.empty(len(positions), np.int64)
    places[positions] = np.arange(len(positions))
    files, schema = places // size, schema_of(table.row)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        paths = [Path(temporary) / f"{number}.arrow" for number in range(-(-len(places) // size))]
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
