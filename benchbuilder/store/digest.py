"""The digest of a table: a hash of its values, whatever chunks, buffers or versions of Arrow they lie in."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ROWS = 65_536


def digest_of(table: pa.Table) -> str:
    """SHA-256 of the rows in order.

    Equal rows give equal digests, however they are cut into chunks and whether they come from memory or from a file:
    what lies in the buffers under a null, and padding, do not count.
    """
    digest = hashlib.sha256(f"{table.num_rows} {' '.join(table.schema.names)}".encode())
    for start in range(0, table.num_rows, _ROWS):
        window = table.slice(start, _ROWS).combine_chunks()
        for column in window.columns:
            _feed(digest, column.chunk(0))  # pyright: ignore[reportArgumentType]
    return digest.hexdigest()


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
