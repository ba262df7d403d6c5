"""A table of numbers in single precision that is written once and read often, in memory or in a file."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.atomic_write import name_file_in_errors

Matrix = NDArray[np.float32]

_HELD = 256_000_000
"""A larger table lies in a file if there is a folder for it."""
_WINDOW = 4096
"""Rows of a file that are looked at together: a multiple of every number of rows that BLAS takes at once."""
_LANES = 64
"""BLAS adds up the products of at most so many rows before it adds them to the sum."""


class StoredMatrix:
    """The rows that `pieces` give one after the other, of `width` numbers each.

    The file is in the folder `scratch`, if there is one; nobody else sees it, and it ends with the table.
    """

    def __init__(self, pieces: Iterable[Matrix], rows: int, width: int, scratch: Path | None) -> None:
        self._rows, self._width = rows, width
        self._file: IO[bytes] | None = None
        self._held = np.zeros((0, width), np.float32)
        if scratch is not None and 4 * rows * width > _HELD:
            with name_file_in_errors(scratch):
                scratch.mkdir(parents=True, exist_ok=True)
                self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - it is closed with the table
                weakref.finalize(self, self._file.close)
                for piece in pieces:
                    self._file.write(piece.data)
                self._file.flush()
            return
        self._held, start = np.empty((rows, width), np.float32), 0
        for piece in pieces:
            self._held[start : start + len(piece)] = piece
            start += len(piece)

    def windows(self) -> Iterator[tuple[int, Matrix]]:
        """All rows, some at a time, with the number of the first of them; what is in memory comes as a whole."""
        if self._file is None:
            yield 0, self._held
            return
        for first in range(0, self._rows, _WINDOW):
            shape = (min(_WINDOW, self._rows - first), self._width)
            yield first, np.memmap(self._file, np.float32, "r", 4 * first * self._width, shape)

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """The rows of these numbers, which rise."""
        if self._file is None:
            return self._held[rows]
        taken = np.empty((len(rows), self._width), np.float32)
        for first, window in self.windows():
            start, stop = np.searchsorted(rows, [first, first + len(window)])
            taken[start:stop] = window[rows[start:stop] - first]
        return taken

    def transposed_times(self, columns: Matrix) -> Matrix:
        """Its transpose times columns. With one column and one thread, windows give the bits of the whole product.

        The sum so far goes before the next rows, as rows of their own.
        """
        total: Matrix | None = None
        for first, window in self.windows():
            part, some = window, columns[first : first + len(window)]
            if total is not None:
                before = np.zeros((-(-len(total.T) // _LANES) * _LANES, self._width), np.float32)
                before[: len(total.T)] = total.T
                part = np.concatenate([before, window])
                some = np.concatenate([np.eye(len(before), total.shape[1], dtype=np.float32), some])
            total = np.asarray(part.T @ some, np.float32)
        return np.zeros((self._width, columns.shape[1]), np.float32) if total is None else total
