"""Payloads as a column: their texts converted, and the text of their cells, as row by row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchbuilder.core.records.arrow.build_rows import value_lists
from benchbuilder.core.records.payload_base import FIRST, LIST_MARK, PART_MARK, SPACED, FieldPayload

_compute: Any = pc


def is_by_field(payload: Any) -> bool:
    """Whether columns of payloads of the class `payload` can be treated by its fields: no method says otherwise."""
    return (
        isinstance(payload, type) and issubclass(payload, FieldPayload)
        and payload.map_texts is FieldPayload.map_texts and payload.flat_cells is FieldPayload.flat_cells
    )  # fmt: skip


def holds_text(type_: Any, field: str) -> bool:
    """Whether a field of payloads of the Arrow type `type_` leads to texts, in lists and nested records too."""
    if pa.types.is_list(type_):
        return holds_text(type_.value_type, field)
    if not pa.types.is_struct(type_):
        return not field and pa.types.is_string(type_)
    if not field:
        return all(holds_text(part.type, "") for part in type_)
    name, _, rest = field.removesuffix(FIRST).removesuffix(SPACED).partition(".")
    place = type_.get_field_index(name)
    return place >= 0 and holds_text(type_.field(place).type, rest)


def convert_texts(
    payload: type[FieldPayload], column: pa.Array[Any], convert: Callable[[Sequence[str]], list[str]]
) -> tuple[pa.Array[Any], NDArray[np.int64]]:
    """Payloads with the texts that `convert` makes, and the positions of those that changed (rising).

    `convert` gets each text once, and returns the new ones in order.
    """
    leaves = list(_leaves(column, payload.text_fields))
    encoded: list[Any] = pa.chunked_array([leaf for _, leaf in leaves], pa.string()).dictionary_encode().chunks
    if not encoded:
        return column, np.zeros(0, np.int64)
    texts: Any = encoded[0].dictionary
    chunks = iter(encoded)  # without empty ones
    numbers = [next(chunks).indices if len(leaf) else pa.array([], pa.int32()) for _, leaf in leaves]
    made = pa.array(convert(texts.to_pylist()), pa.string())
    differ = _compute.not_equal(texts, made)
    if not _compute.any(differ, min_count=0).as_py():
        return column, np.zeros(0, np.int64)
    masks = [differ.take(number).fill_null(False).to_numpy(zero_copy_only=False) for number in numbers]
    positions = np.concatenate([rows[mask] for (rows, _), mask in zip(leaves, masks, strict=True)])
    rewritten = _with_texts(column, payload.text_fields, iter([made.take(number) for number in numbers]))
    return rewritten, np.unique(positions)


def cell_texts(payload: type[FieldPayload], column: pa.Array[Any], mark: str) -> pa.Array[Any]:
    """The cells of each payload, joined by `mark`."""
    cells = [_cells(column, field) for field in payload.cell_fields.values()]
    return _compute.binary_join_element_wise(*cells, mark)


def _leaves(column: Any, fields: Collection[str], rows: Any = None) -> Iterator[tuple[Any, Any]]:
    """The texts of `fields`, column by column, and for each text the position of its payload."""
    rows = np.arange(len(column)) if rows is None else rows
    if pa.types.is_list(column.type):
        lengths = _compute.list_value_length(column).to_numpy(zero_copy_only=False)
        yield from _leaves(column.flatten(), fields, np.repeat(rows, lengths))
    elif pa.types.is_struct(column.type):
        inner = _by_head(fields)
        for field in column.type:
            if field.name in inner:
                yield from _leaves(_compute.struct_field(column, field.name), inner[field.name], rows)
    else:
        yield rows, column


def _with_texts(column: Any, fields: Collection[str], texts: Iterator[Any]) -> Any:
    """The column with other texts in `fields`, in the order of `_leaves`."""
    if pa.types.is_list(column.type):
        return value_lists(column, _with_texts(column.flatten(), fields, texts))
    if not pa.types.is_struct(column.type):
        return next(texts)
    inner = _by_head(fields)
    parts = [
        _with_texts(part, inner[field.name], texts) if field.name in inner else part
        for field in column.type
        for part in [_compute.struct_field(column, field.name)]
    ]
    return pa.StructArray.from_arrays(parts, fields=list(column.type))


def _by_head(fields: Collection[str]) -> dict[str, list[str]]:
    """The fields below each first name."""
    inner: dict[str, list[str]] = {}
    for field in fields:
        name, _, rest = field.partition(".")
        inner.setdefault(name, []).extend([rest] if rest else [])
    return inner


def _cells(column: Any, field: str) -> Any:
    cells = _compute.struct_field(column, field.removesuffix(FIRST).removesuffix(SPACED))
    if field.endswith(SPACED):
        return _compute.binary_join(value_lists(cells, _shown(cells.flatten())), " ")
    return _shown(_compute.list_element(cells, 0) if field.endswith(FIRST) else cells)


def _shown(values: Any) -> Any:
    if pa.types.is_list(values.type):
        return _compute.binary_join(value_lists(values, _shown(values.flatten())), LIST_MARK)
    if pa.types.is_struct(values.type):
        parts = [_compute.struct_field(values, field.name) for field in values.type]
        return _compute.binary_join_element_wise(*parts, PART_MARK)
    return values
