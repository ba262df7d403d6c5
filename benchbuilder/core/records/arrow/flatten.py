"""The columns of rows: their names, and rows of any role as flat records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.payloads import Payload, question_cells
from benchbuilder.core.records.roles import Candidate
from benchbuilder.core.records.row import Row

_ROW_HEADER = frozenset(Row.model_fields)
_TAIL = pa.schema(
    [
        pa.field("origin", pa.string(), nullable=False),
        pa.field("language", pa.string(), nullable=False),
        pa.field("produced-by", pa.string(), nullable=False),
        pa.field("parents", pa.list_(pa.string()), nullable=False),
    ]
)


def output_field_name(name: str) -> str:
    """A field's name as output files spell it.

    >>> output_field_name("answer_wrong")
    'answer-wrong'
    """
    return name.replace("_", "-")


def cells_of(row: Row) -> Mapping[str, str]:
    """The cells of a row that people see: those of its payload, or a candidate's own."""
    payload = getattr(row, "payload", None)
    if isinstance(payload, Payload):
        return payload.flat_cells()
    return question_cells(row) if isinstance(row, Candidate) else {}


def flat_names(cls: type[Row]) -> tuple[str, ...]:
    """The names of the cells of rows of `cls`."""
    if "payload" in cls.model_fields:
        payload: Any = cls.model_fields["payload"].annotation
        return tuple(payload.examples()[0].flat_cells())
    if issubclass(cls, Candidate):
        return ("q-type", "expected", "full-question", "answer", "answer-wrong")
    return ()


def flat_record_schema(cls: type[Row]) -> pa.Schema:
    """The columns of `flat_records`: id, source, the payload's fields, other cells, the row's fields, and origin."""
    fields = [pa.field("id", pa.string(), nullable=False), pa.field("source", pa.string(), nullable=False)]
    own: list[pa.Field[Any]] = []
    for field in schema_of(cls):
        if field.name == "payload":
            struct: Any = field.type
            fields += [part.with_name(output_field_name(part.name)) for part in struct]
        elif field.name not in _ROW_HEADER:
            own.append(field.with_name(output_field_name(field.name)))
    taken = {field.name for field in (*fields, *own, *_TAIL)}
    cells = [pa.field(name, pa.string(), nullable=False) for name in flat_names(cls) if name not in taken]
    return pa.schema([*fields, *cells, *own, *_TAIL])


def flat_records(table: Table[Any]) -> Iterator[dict[str, Any]]:
    """One flat record per row, with the columns of `flat_record_schema` in their order.

    Nested data (paragraphs) stays nested; ``origin`` is ``file:line``, ``produced-by`` is ``rule@version`` and
    ``parents`` every ancestor's id, nearest first.
    """
    names = flat_record_schema(table.row).names
    for row in table:
        data = row.model_dump(mode="json")
        payload: Mapping[str, Any] = data.get("payload") or {}
        values: dict[str, Any] = {
            **cells_of(row),
            **{output_field_name(name): value for name, value in data.items() if name not in _ROW_HEADER},
            **{output_field_name(name): value for name, value in payload.items()},
            "id": row.id,
            "source": row.partition,
            "origin": f"{row.origin.file}:{row.origin.line}",
            "language": row.language,
            "produced-by": f"{row.produced_by.rule}@{row.produced_by.version}",
            "parents": list(row.parents),
        }
        yield {name: values[name] for name in names}


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
