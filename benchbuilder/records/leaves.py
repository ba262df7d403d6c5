"""The texts of a payload's column, wherever in it they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_compute: Any = pc


def leaves(array: pa.Array[Any], rows: Any = None) -> Iterator[tuple[Any, Any]]:
    """Each column of texts inside `array`: the place of the line that each text belongs to, and the texts.

    Structs and lists are gone into; numbers are left out.
    """
    column: Any = array
    rows = np.arange(len(column)) if rows is None else rows
    if pa.types.is_string(column.type):
        yield rows, column
    elif pa.types.is_struct(column.type):
        for field in column.type:
            yield from leaves(_compute.struct_field(column, field.name), rows)
    elif pa.types.is_list(column.type):
        lengths = _compute.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        yield from leaves(column.flatten(), np.repeat(rows, lengths))
