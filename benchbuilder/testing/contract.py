"""The contract of every kind, in any slot."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from benchbuilder.config import KindSpec
from benchbuilder.core import Payload, Row, Table, schema_of


class ContractError(AssertionError):
    """A kind breaks a promise of its slot."""


def require(holds: bool, message: str) -> None:
    """Raise ContractError with `message` unless the condition `holds`."""
    if not holds:
        raise ContractError(message)


def check_kind(slot: str, name: str, cls: type[Any]) -> None:
    """Check that a kind describes itself: a name, a docstring, a version, a frozen spec, a sentence for each reason.

    Args:
        slot: The slot that the kind fills, such as ``step`` or ``payload``.
        name: The name under which it is registered.
        cls: Its class.

    Raises:
        ContractError: The kind breaks a promise.
    """
    require(cls.kind == name, f"{cls.__name__}.kind is {cls.kind!r}, and it is registered as {name!r}")
    require(bool(inspect.getdoc(cls)), f"{cls.__name__} has no docstring")
    version = getattr(cls, "version", 1)
    require(isinstance(version, int) and version >= 1, f"{cls.__name__}.version is {version!r}, not an integer from 1")
    if slot == "payload":
        require(issubclass(cls, Payload), f"{cls.__name__} is not a Payload")
        return
    spec = cls.spec_class
    require(issubclass(spec, KindSpec), f"the spec class of {cls.__name__} is not a KindSpec")
    require(bool(spec.model_config.get("frozen")), f"{spec.__name__} is not frozen")
    require(spec.model_config.get("extra") == "forbid", f"{spec.__name__} accepts unknown keys")
    check_reasons(cls.__name__, getattr(cls, "reasons", {}))


def check_reasons(who: str, reasons: Mapping[str, str]) -> None:
    """Check that each reason is an identifier, for programs, and has a sentence, for people."""
    for reason, sentence in reasons.items():
        require(reason.isidentifier(), f"the reason {reason!r} of {who} is not an identifier")
        require(bool(sentence.strip()), f"the reason {reason!r} of {who} has no sentence")


def check_ids(who: str, rows: Iterable[Row]) -> None:
    """Check that ids are unique, and that each follows from the identity fields of its row."""
    seen = set[str]()
    for row in rows:
        require(row.id not in seen, f"{who} makes two rows with the id {row.id}")
        seen.add(row.id)
        fields = {name: getattr(row, name) for name in type(row).model_fields if name != "id"}
        again = type(row).build(**fields)
        require(
            row.id == again.id, f"{who} makes {row.id}, but its fields give {again.id}: make rows with build or child"
        )


def check_table(who: str, table: Table[Any], row: type[Row]) -> None:
    """Check that a table has the exact schema of its row class, no forbidden null, and rows that survive Arrow."""
    require(table.row is row, f"{who} makes rows of {table.row.__name__}, not of {row.__name__}")
    schema = schema_of(row)
    require(
        table.arrow.schema.equals(schema), f"{who} makes a table with another schema:\n{table.arrow.schema}\n{schema}"
    )
    for field in schema:
        nulls = table.arrow.column(field.name).null_count
        require(field.nullable or nulls == 0, f"{who} leaves {nulls} nulls in {field.name}")
    rows = list(table)
    require(list(Table.of(rows, row)) == rows, f"rows of {who} change on the way through Arrow")
