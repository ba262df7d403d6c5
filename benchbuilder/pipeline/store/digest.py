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
        window = pa.concat_tables(pieces)
        for column in window.columns:
            _feed(self._hash, column.chunks)


def _feed(digest: Any, chunks: Sequence[Any]) -> None:
    """Feed a column that comes in chunks, as if it were in one piece."""
    masks = [chunk.is_valid().to_numpy(zero_copy_only=False) for chunk in chunks]
    digest.update(np.packbits(np.concatenate(masks)).tobytes())
    dense = [chunk.drop_null() if chunk.null_count else chunk for chunk in chunks]
    if pa.types.is_struct(dense[0].type):
        for index in range(dense[0].type.num_fields):
            _feed(digest, [chunk.field(index) for chunk in dense])
    elif pa.types.is_list(dense[0].type):
        for chunk in dense:
            digest.update(_lengths(pc.list_value_length(chunk)))
        _feed(digest, [chunk.flatten() for chunk in dense])
    elif pa.types.is_string(dense[0].type):
        for chunk in dense:
            digest.update(_lengths(pc.binary_length(chunk)))
        for chunk in dense:
            digest.update(_text_bytes(chunk))
    else:
        for chunk in dense:
            digest.update(np.ascontiguousarray(chunk.to_numpy(zero_copy_only=False)).tobytes())


def _lengths(lengths: Any) -> bytes:
    return lengths.to_numpy(zero_copy_only=False).astype("<i4").tobytes()


def _text_bytes(texts: Any) -> Any:
    """The bytes of all texts of an array, without those beside it."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return b""
    starts = np.frombuffer(offsets, dtype="<i4")
    return memoryview(data or b"")[int(starts[texts.offset]) : int(starts[texts.offset + len(texts)])]
