"""Many rows at once, as fast as the database can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, text, update
from sqlalchemy import bindparam as bind

_CHUNK = 400


def _chunks(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def add(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert `rows`, all with the same columns."""
    if rows and connection.dialect.name == "sqlite":
        connection.execute(insert(table), rows)
    elif rows:
        for chunk in _chunks(rows):
            connection.execute(insert(table).values(list(chunk)))


def change(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Update rows by their ``id``, all with the same columns."""
    if rows:
        columns = {name: bind(f"new_{name}") for name in rows[0] if name != "id"}
        statement = update(table).where(table.c.id == bind("old_id")).values(columns)
        connection.execute(
            statement, [{"old_id" if k == "id" else f"new_{k}": v for k, v in row.items()} for row in rows]
        )


def remove(connection: Connection, table: Table, ids: Sequence[int]) -> None:
    """Delete rows by their ids."""
    for chunk in _chunks(ids):
        connection.execute(delete(table).where(table.c.id.in_(chunk)))


def place(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Put assignments in their places: rows with ``id``, ``place`` and ``live``."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(text("UPDATE assignments SET place = :place, live = :live WHERE id = :id"), rows)
        return
    statement = text(
        "UPDATE assignments a SET place = v.place, live = v.live FROM unnest("
        "CAST(:ids AS bigint[]), CAST(:places AS integer[]), CAST(:lives AS boolean[])"
        ") AS v(id, place, live) WHERE a.id = v.id"
    )
    columns = {"ids": "id", "places": "place", "lives": "live"}
    connection.execute(statement, {name: [row[column] for row in rows] for name, column in columns.items()})
