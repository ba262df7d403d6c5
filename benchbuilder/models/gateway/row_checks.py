"""Checksums of the journal's rows: a damaged figure, a lost row and a row too many are found before sums are used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from xxhash import xxh32_intdigest

_KEYS = {"replies": "id", "attempts": "id", "batches": "mark", "batched": "key", "unlucky": "key"}
_COLUMNS = {
    "attempts": "id owner outcome key step model endpoint prompt completion usd prices body at",
    "batches": "mark id owner model endpoint state handed_in",
    "batched": "key mark loose counted request",
    "unlucky": "key failures final why",
}
CHECKED_TABLES = tuple(_KEYS)
"""The tables whose rows have a checksum."""
GROUP = "step, model, endpoint, outcome, prices"
"""The texts of a reply that its checksum covers."""
_LOW = 0xFFFFFFFF


def row_checksum(*values: Any) -> int:
    """The checksum of the values of a row."""
    return xxh32_intdigest(repr(values).encode("utf-8", "surrogatepass"))


def figures_sum(prefix: str = "") -> str:
    """SQL: the figures of a reply as one number, which every change of one figure changes."""
    dollars = f"coalesce({prefix}usd, -1.0) * 1099511627776.0"
    parts = [f"{prefix}id * 3", f"{prefix}prompt * 5", f"{prefix}completion * 7", f"{prefix}cached * 11"]
    parts += [f"{prefix}estimated * 13", f"{prefix}counted * 17", f"coalesce({prefix}max_new_tokens, -1) * 19"]
    parts += [f"{prefix}batched * 23", f"CAST({dollars} AS INTEGER) * 29"]
    parts += [f"CAST(({dollars} - CAST({dollars} AS INTEGER)) * 1099511627776.0 AS INTEGER) * 31"]
    return f"CAST({' + '.join(parts)} AS INTEGER)"


def checksum_sql(table: str, prefix: str = "") -> str:
    """SQL: the checksum of a row of `table`."""
    if table == "replies":
        texts = ", ".join(prefix + name for name in GROUP.split(", "))
        return f"({figures_sum(prefix)} + row_checksum({texts}))"
    return f"row_checksum({', '.join(prefix + name for name in _COLUMNS[table].split())})"


def keep_checksums(connection: sqlite3.Connection) -> None:
    """Make a connection that writes keep the checksums; a row that did not fit before a change never fits after it."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    for table, key in _KEYS.items():
        columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})") if row[1] != "checksum"]
        new, old = checksum_sql(table, "new."), checksum_sql(table, "old.")
        count = f"UPDATE sums SET lines = lines {{}}, total = total {{}} WHERE name = '{table}'"
        fit = f"UPDATE {table} SET checksum = {new} WHERE {key} = new.{key}"
        for event, when, then in (
            ("INSERT", "", f"{count.format('+ 1', '+ 0')}; {fit}"),
            (f"UPDATE OF {', '.join(columns)}", f"WHEN old.checksum = {old}", fit),
            ("UPDATE OF checksum", "", count.format("+ 0", f"+ (new.checksum & {_LOW}) - (old.checksum & {_LOW})")),
            ("DELETE", "", count.format("- 1", f"- (old.checksum & {_LOW})")),
        ):
            name = f"sum_{table}_{event.split()[0]}{'_own' if event.endswith('checksum') else ''}"
            connection.execute(f"CREATE TEMP TRIGGER {name} AFTER {event} ON main.{table} {when} BEGIN {then}; END")


def write_checksums(connection: sqlite3.Connection) -> None:
    """Give all rows the checksums that fit them as they are now."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    for table in CHECKED_TABLES:
        connection.execute(f"UPDATE {table} SET checksum = {checksum_sql(table)}")
        connection.execute(
            f"INSERT OR REPLACE INTO sums SELECT '{table}', count(*), coalesce(sum(checksum & {_LOW}), 0) FROM {table}"
        )


def damaged_rows(connection: sqlite3.Connection, table: str) -> list[str]:
    """The keys of the rows of a table that do not fit their checksum."""
    connection.create_function("row_checksum", -1, row_checksum, deterministic=True)
    sql = f"SELECT {_KEYS[table]} FROM {table} NOT INDEXED WHERE checksum IS NOT {checksum_sql(table)}"
    return [str(key) for (key,) in connection.execute(sql)]


def row_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong with the rows of a journal: damaged rows by their keys, and tables with lost rows."""
    held = {name: (lines, total) for name, lines, total in connection.execute("SELECT name, lines, total FROM sums")}
    for table in CHECKED_TABLES:
        if table == "replies":
            yield from _reply_problems(connection, held.get(table))
            continue
        if damaged := damaged_rows(connection, table):
            yield _named(table, damaged)
        sums = f"SELECT count(*), coalesce(sum(checksum & {_LOW}), 0) FROM {table}"
        if connection.execute(sums).fetchone() != held.get(table):
            yield f"rows of the table {table} are lost or damaged"


def _reply_problems(connection: sqlite3.Connection, held: tuple[int, int] | None) -> Iterator[str]:
    """As `row_problems`; the texts are checked once for all replies that share them, since they are many."""
    sql = (
        f"SELECT {GROUP}, sum(checksum - {figures_sum()}), count(*), sum(checksum & {_LOW}) FROM replies NOT INDEXED"
        f" GROUP BY {GROUP}"
    )
    lines = total = 0
    fits = True
    for *texts, rest, count, part in connection.execute(sql):
        lines, total = lines + count, total + part
        fits = fits and rest == count * row_checksum(*texts)
    if not fits:
        yield _named("replies", damaged_rows(connection, "replies"))
    if (lines, total) != held:
        yield "rows of the table replies are lost or damaged"


def _named(table: str, keys: list[str]) -> str:
    shown = ", ".join(key[:48] for key in keys[:5])
    return f"figures of the table {table} do not fit their checksum (rows {shown}{', ...' if len(keys) > 5 else ''})"
