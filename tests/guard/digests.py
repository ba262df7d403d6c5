"""Short digests of values: numbers count to four digits, so that the last bits of a machine do not."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

WHOLE = 4
"""Characters of a digest that stands for many values: 24 bits."""
Columns = dict[str, list[Any]]


def plain(value: Any) -> Any:
    """A value whose numbers with a point are rounded to four digits."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _text(value: Any) -> str:
    """A value as text."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, sort_keys=True)


def _short(text: str, length: int) -> str:
    return base64.urlsafe_b64encode(hashlib.blake2b(text.encode(), digest_size=6).digest()).decode()[:length]


def digest(value: Any, length: int = WHOLE) -> str:
    """The first characters of the digest of a value."""
    return _short(_text(value), length)


def whole(values: Iterable[Any]) -> str:
    """The digest of many values, whatever their order."""
    return f"~{digest(sorted(map(_text, values)))}"


def ordered(values: Sequence[Any]) -> str:
    """The digest of many values in their order."""
    return f"~{digest(list(values))}"


def each(values: Iterable[Any], length: int) -> str:
    """A digest of `length` characters for each value, one after the other."""
    return f"*{length}:{''.join(digest(value, length) for value in values)}"


def columns_of(table: pa.Table) -> Columns:
    """The columns of rows by name, those of a record or of a list of records each by the name of its field."""
    while any(pa.types.is_struct(column.type) for column in table.columns):
        table = table.flatten()
    found: Columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.to_pylist()
        if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            fields = [column.type.value_type.field(number).name for number in range(column.type.value_type.num_fields)]
            found |= {f"{name}.{field}": [[one[field] for one in row or ()] for row in values] for field in fields}
        else:
            found[name] = values
    return found
