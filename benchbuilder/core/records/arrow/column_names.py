"""What the columns of a row class are called, known without any row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from benchbuilder.core.records.arrow.table import schema_of
from benchbuilder.core.records.payloads import Payload
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Row


def text_names(row: type[Row]) -> tuple[str, ...]:
    """Names of the natural-language texts of a row class; none where the payload is not known."""
    if issubclass(row, Passage):
        return ("title", "text")
    payload: Any = row.model_fields["payload"].annotation if "payload" in row.model_fields else None
    if not isinstance(payload, type) or not issubclass(payload, Payload):
        return ()
    return tuple(payload.examples()[0].texts())


def column_names(row: type[Row]) -> tuple[str, ...]:
    """Every column of a row class, those of structs by dots (``payload.question``)."""
    names: list[str] = []

    def walk(prefix: str, fields: list[pa.Field[Any]]) -> None:
        for field in fields:
            names.append(prefix + field.name)
            if isinstance(field.type, pa.StructType):
                walk(f"{prefix}{field.name}.", [field.type.field(i) for i in range(field.type.num_fields)])

    walk("", list(schema_of(row)))
    return tuple(names)
