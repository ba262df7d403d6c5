"""Inserts, updates and deletes many rows at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, insert, text, update

from benchbuilder.annotation.database.sanitise import dump_json
from benchbuilder.annotation.database.schema import assignments

Rows = Sequence[Mapping[str, Any]]
_CHUNK = 400


def insert_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Insert `rows`, all with the same columns."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(insert(table), [dict(row) for row in rows])
        return
    columns = ", ".join(rows[0])
    _from_json(connection, f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM {_json_recordset(table)}", rows)


def update_rows(connection: Connection, table: Table, rows: Rows) -> None:
    """Update rows by their ``id``, all with the same columns."""
    if not rows:
        return
    names = [name for name in rows[0] if name != "id"]
    if connection.dialect.name == "sqlite":
        new = {name: bindparam(f"new_{name}") for name in names}
        renamed = [{f"new_{name}": value for name, value in row.items()} for row in rows]
        connection.execute(update(table).where(table.c.id == bindparam("new_id")).values(new), renamed)
        return
    columns = ", ".join(f"{name} = v.{name}" for name in names)
    _from_json(
        connection,
        f"UPDATE {table.name} SET {columns} FROM {_json_recordset(table)} AS v WHERE {table.name}.id = v.id",
        rows,
    )


def delete_assignments(connection: Connection, ids: Sequence[int]) -> None:
    """Delete assignments by their ids."""
    for some in some_at_a_time(ids):
        connection.execute(delete(assignments).where(assignments.c.id.in_(some)))


def some_at_a_time(ids: Iterable[int]) -> Iterator[list[int]]:
    """The `ids`, as many at a time as a condition may list."""
    rest = iter(ids)
    while some := list(islice(rest, _CHUNK)):
        yield some


def _json_recordset(table: Table) -> str:
    return f"json_populate_recordset(CAST(NULL AS {table.name}), CAST(:rows AS json))"


def _from_json(connection: Connection, statement: str, rows: Rows) -> None:
    """Send all rows in one statement, instead of one round trip per row."""
    connection.execute(text(statement), {"rows": dump_json([dict(row) for row in rows])})
