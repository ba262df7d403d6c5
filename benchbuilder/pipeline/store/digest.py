"""The digest of a table: a hash of its values, independent of chunks, buffers and the version of Arrow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ROWS = 65_536


def table_digest(table: pa.Table) -> str:
    """SHA-256 of the rows in order.

    Equal rows give equal digests, in any chunks, from memory or from a file: padding and the bytes under a null do
    not count.
    """
    digest = TableDigest(table.num_rows, table.schema.names)
    digest.update(table)
    return digest.hexdigest()


class TableDigest:
    """The digest of a table that comes in pieces; only the last few rows are held in memory.

    `rows` is the total number of rows, `names` are the columns.
    """

    def __init__(self, rows: int, names: Sequence[str]) -> None:
        self._hash = hashlib.sha256(f"{rows} {' '.join(names)}".encode())
        self._rest: list[pa.Table] = []
        self._waiting = 0

    def update(self, table: pa.Table) -> None:
        """The next rows."""
        start = 0
        while self._waiting + table.num_rows - start >= _ROWS:
            take = _ROWS - self._waiting
            self._window([*self._rest, table.slice(start, take)])
            self._rest, self._waiting, start = [], 0, start + take
        if start < table.num_rows:
            self._rest.append(table.slice(start))
            self._waiting += table.num_rows - start

    def hexdigest(self) -> str:
        """The digest, once all rows were fed."""
        if self._waiting:
            self._window(self._rest)
        self._rest, self._waiting = [], 0
        return self._hash.hexdigest()

    def _window(self, pieces: Sequence[pa.Table]) -> None:
        window = pa.concat_tables(pieces).combine_chunks()
        for column in window.columns:
            _feed(self._hash, column.chunk(0))  # pyright: ignore[reportArgumentType]


def _feed(digest: Any, array: pa.Array[Any]) -> None:
    digest.update(np.packbits(array.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    dense: Any = array.drop_null()
    if pa.types.is_struct(dense.type):
        for index in range(dense.type.num_fields):
            _feed(digest, dense.field(index))
    elif pa.types.is_list(dense.type):
        digest.update(pc.list_value_length(dense).to_numpy(zero_copy_only=False).astype("<i4").tobytes())
        _feed(digest, dense.flatten())
    elif pa.types.is_string(dense.type):
        lengths = pc.binary_length(dense).to_numpy(zero_copy_only=False).astype("<i4")
        digest.update(lengths.tobytes())
        _, offsets, data = dense.buffers()
        if len(dense):
            starts = np.frombuffer(offsets, dtype="<i4")
            first, last = int(starts[dense.offset]), int(starts[dense.offset + len(dense)])
            digest.update(memoryview(data or b"")[first:last])
    else:
        digest.update(np.ascontiguousarray(dense.to_numpy(zero_copy_only=False)).tobytes())
