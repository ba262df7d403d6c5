"""What every kind must keep, whatever its slot."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.records.arrow.table import Table, schema_of
from benchbuilder.core.records.payloads import Payload
from benchbuilder.core.records.row import Row


class ContractError(AssertionError):
    """A kind does not keep what its slot promises."""


def require(holds: bool, message: str) -> None:
    """ContractError with `message` unless it `holds`."""
    if not holds:
        raise ContractError(message)


def check_kind(slot: str, name: str, cls: type[Any]) -> None:
    """A kind says what it is: its name, a docstring, a version, a frozen spec and a sentence for each reason."""
    require(cls.kind == name, f"{cls.__name__}.kind is {cls.kind!r}, and it is registered as {name!r}")
    require(bool(inspect.getdoc(cls)), f"{cls.__name__} has no docstring")
    version = getattr(cls, "version", 1)
    require(isinstance(version, int) and version >= 1, f"{cls.__name__}.version is {version!r}, not a number from 1")
    if slot == "payload":
        require(issubclass(cls, Payload), f"{cls.__name__} is no Payload")
        return
    spec = cls.spec_class
    require(issubclass(spec, KindSpec), f"the spec class of {cls.__name__} is no KindSpec")
    require(bool(spec.model_config.get("frozen")), f"{spec.__name__} is not frozen")
    require(spec.model_config.get("extra") == "forbid", f"{spec.__name__} takes keys that it does not know")
    check_reasons(cls.__name__, getattr(cls, "reasons", {}))


def check_reasons(who: str, reasons: Mapping[str, str]) -> None:
    """Reasons are words for programs, each with a sentence for people."""
    for reason, sentence in reasons.items():
        require(reason.isidentifier(), f"the reason {reason!r} of {who} is not one word of letters and underscores")
        require(bool(sentence.strip()), f"the reason {reason!r} of {who} has no sentence")


def check_ids(who: str, rows: Iterable[Row]) -> None:
    """Ids are unique, and what the identity fields of the row give."""
    seen = set[str]()
    for row in rows:
        require(row.id not in seen, f"{who} makes two rows with the id {row.id}")
        seen.add(row.id)
        fields = {name: getattr(row, name) for name in type(row).model_fields if name != "id"}
        again = type(row).build(**fields)
        require(
            row.id == again.id, f"{who} makes {row.id}, whose fields give {again.id}: make rows with build or child"
        )


def check_table(who: str, table: Table[Any], row: type[Row]) -> None:
    """A table has the exact schema of its row class, no null where none may be, and rows that come back equal."""
    require(table.row is row, f"{who} makes rows of {table.row.__name__}, not of {row.__name__}")
    schema = schema_of(row)
    require(
        table.arrow.schema.equals(schema), f"{who} makes a table of another schema:\n{table.arrow.schema}\n{schema}"
    )
    for field in schema:
        nulls = table.arrow.column(field.name).null_count
        require(field.nullable or nulls == 0, f"{who} leaves {nulls} nulls in {field.name}")
    rows = list(table)
    require(list(Table.of(rows, row)) == rows, f"rows of {who} do not come back from Arrow as they were")
