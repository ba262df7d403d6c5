"""Moves the readable replies of a damaged journal into a new one."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, parse_json
from benchbuilder.models.gateway.budget import ASSUMED_REPLY_TOKENS
from benchbuilder.models.gateway.journal_file import DAMAGE, decode_text, make_tables, put_in_place, write_ahead_log
from benchbuilder.models.gateway.journal_tables import APPLICATION, lose_attempt, reply_digest, unpack_request
from benchbuilder.models.gateway.row_checks import CHECKED_TABLES, damaged_rows, row_problems, write_checksums
from benchbuilder.models.gateway.token_count import TokenCounter

_PAGE = 4096
_LEAST_BYTES = 400
"""No reply takes less of the file: this bounds the search for ids."""
_KEYED = {"attempts": "id", "batches": "mark", "batched": "key", "unlucky": "key"}
"""The other tables, and their keys."""


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """What was found. `damaged` replies are kept as billed attempts without an answer.

    `lost` counts texts without the entry that they belong to. `backup` is the damaged file under its new name, and
    ``None`` if the journal is whole and was left alone.
    """

    saved: int
    damaged: int
    lost: int
    backup: Path | None


def salvage_journal(file: Path) -> SalvageReport:
    """Put a new journal in the place of a damaged one; the damaged file stays beside it.

    Raises:
        DataError: There is no such file, or nothing in it is readable.
    """
    if not file.is_file():
        raise DataError(
            "there is no such file", where=str(file), next="name the journal, for instance builds/NAME/replies.sqlite"
        )
    with tempfile.TemporaryDirectory(prefix=".salvage-", dir=file.parent) as folder:
        new, copy = Path(folder) / "new.sqlite", Path(folder) / "copy.sqlite"
        make_tables(new)
        shutil.copyfile(file, copy)
        if (log := write_ahead_log(file)).exists():
            shutil.copyfile(log, write_ahead_log(copy))
        mended = _mend_first_page(copy, file, new)
        with contextlib.closing(_open(copy)) as old, contextlib.closing(_open(new)) as made:
            made.execute("BEGIN")
            counts = _copy_replies(old, made, copy.stat().st_size // _LEAST_BYTES)
            for table, key in _KEYED.items():
                _copy_table(old, made, table, key)
            checked = bool(list(_rows(old, "SELECT 1 FROM sqlite_master WHERE name = 'sums'")))
            mended_rows = mend_rows(made) if checked else 0
            write_checksums(made)
            made.execute("COMMIT")
            made.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            whole = not (mended or mended_rows or any(counts[1:])) and _is_whole(old, has_log=log.exists())
            if whole and not (checked and list(_problems(old))):
                return SalvageReport(*counts, None)
            if mended and not any(counts):  # any file of some size is one whose first page is damaged
                raise _unreadable(file)
        backup = _set_aside(file)
        put_in_place(new, file)
    return SalvageReport(*counts, backup)


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.text_factory = decode_text
    return connection


def _mend_first_page(copy: Path, file: Path, fresh: Path) -> bool:
    """Replace a damaged first page, which is the same in every journal; DataError if `copy` is no journal."""
    for mended in (False, True):
        with contextlib.closing(_open(copy)) as old, contextlib.suppress(*DAMAGE):
            old.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('replies', 'bodies')").fetchone()
            found = old.execute("PRAGMA application_id").fetchone()[0]
            if found == APPLICATION:
                return mended
            if found or old.execute("SELECT count(*) FROM sqlite_master WHERE name = 'bodies'").fetchone() == (0,):
                raise DataError(
                    "this file is not a journal of replies", where=str(file), next="name the journal: replies.sqlite"
                )
        data = bytearray(copy.read_bytes())
        if len(data) < 2 * _PAGE:
            break
        data[:_PAGE] = fresh.read_bytes()[:_PAGE]
        data[28:40] = bytes(12)  # pages and free pages: SQLite counts them itself
        copy.write_bytes(data)
    raise _unreadable(file)


def _unreadable(file: Path) -> DataError:
    return DataError(
        "nothing in this file is readable", where=str(file), next="put a backup of the journal in its place"
    )


def _is_whole(old: sqlite3.Connection, *, has_log: bool) -> bool:
    """Whether tables and indexes fit each other, and no write-ahead log was lost."""
    found = list(_rows(old, "PRAGMA integrity_check"))
    return found == [("ok",)] and (has_log or not list(_rows(old, "SELECT 1 FROM writers")))


def _copy_replies(old: sqlite3.Connection, made: sqlite3.Connection, most: int) -> tuple[int, int, int]:
    """Copy the replies one by one; how many were saved, damaged and lost."""
    saved = damaged = lost = 0
    with_digest = bool(list(_rows(old, "SELECT 1 FROM pragma_table_info('bodies') WHERE name = 'digest'")))
    digest = "digest" if with_digest else "NULL"
    for ident in range(1, _last_id(old, most) + 1):
        reply = _row(old, "SELECT * FROM replies NOT INDEXED WHERE id = ?", ident)
        body = _row(old, f"SELECT request, body, {digest} FROM bodies WHERE id = ?", ident)
        if reply is None:
            lost += body is not None
            continue
        fits = body is not None and (not with_digest or reply_digest(*reply[1:6], *body[:2]) == body[2])
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.InterfaceError, OverflowError):
            if fits and body is not None:
                held = reply_digest(*reply[1:6], *body[:2])
                _insert(made, "INSERT", "replies", reply)
                made.execute("INSERT INTO bodies VALUES (?, ?, ?, ?)", (ident, *body[:2], held))
                saved += 1
                continue
            _copy_cost(made, reply)
        damaged += 1
    return saved, damaged, lost


def _copy_cost(made: sqlite3.Connection, reply: tuple[Any, ...]) -> None:
    """Keep the cost of a reply without its text, as a billed attempt."""
    ident, key, _, step, model, endpoint, _, prompt, completion, *_, usd, prices, _, at = reply[:17]
    name = f"damaged-{ident}"
    made.execute(
        "INSERT INTO attempts (id, owner, outcome, key, step, model, endpoint, prompt, completion, usd, prices, at)"
        " VALUES (?, '', 'damaged', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, key, step, model, endpoint, prompt, completion, usd, prices, at),
    )
    lose_attempt(made, name, "damaged")


def _last_id(old: sqlite3.Connection, most: int) -> int:
    """The highest id of a reply; where it is unreadable, as many as the file can hold."""
    try:
        found = [old.execute(f"SELECT max(id) FROM {table}").fetchone()[0] for table in ("replies", "bodies")]
    except DAMAGE:
        return most
    return min(max((value for value in found if isinstance(value, int)), default=0), most)


def _copy_table(old: sqlite3.Connection, made: sqlite3.Connection, table: str, key: str) -> None:
    """Copy what is readable of a table, from its start and from its end."""
    for order in ("", " DESC"):
        for row in _rows(old, f"SELECT * FROM {table} ORDER BY {key}{order}"):
            with contextlib.suppress(sqlite3.Error, OverflowError):
                _insert(made, "INSERT OR IGNORE", table, row)


def _insert(made: sqlite3.Connection, how: str, table: str, row: tuple[Any, ...]) -> None:
    """Insert a row as it is; one of version 1 has no checksum."""
    width = len(made.execute(f"PRAGMA table_info({table})").fetchall())
    row += (0,) * (width - len(row))
    made.execute(f"{how} INTO {table} VALUES ({', '.join('?' * width)})", row)


def _problems(old: sqlite3.Connection) -> Iterator[str]:
    with contextlib.suppress(*DAMAGE):
        yield from row_problems(old)
        return
    yield "unreadable"


def _row(old: sqlite3.Connection, sql: str, ident: int) -> tuple[Any, ...] | None:
    return next(iter(_rows(old, sql, ident)), None)


def _rows(old: sqlite3.Connection, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a query up to the first that cannot be read."""
    with contextlib.suppress(*DAMAGE):
        yield from old.execute(sql, values)


def _set_aside(file: Path) -> Path:
    """Rename a journal with its log to a name that is free."""
    number = 1
    while (backup := file.with_name(f"{file.name}.damaged-{number}")).exists():
        number += 1
    if (log := write_ahead_log(file)).exists():
        log.rename(write_ahead_log(backup))
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    return file.rename(backup)


def mend_rows(connection: sqlite3.Connection) -> int:
    """Give rows that do not fit their checksum their worst figures; how many rows there were, in all tables.

    A reply becomes unread: the next build that uses its model computes its figures again from its body.
    """
    damaged = {table: damaged_rows(connection, table) for table in CHECKED_TABLES}
    rates = _rates(connection, damaged)
    for ident in damaged["replies"]:
        packed, body = connection.execute("SELECT request, body FROM bodies WHERE id = ?", (ident,)).fetchone()
        prompt, completion = _bounds(packed, body)
        usd = None if rates is None else prompt * rates[0] + completion * rates[1]
        connection.execute(
            "UPDATE replies SET outcome = NULL, prompt = ?, completion = ?, cached = 0, estimated = 1, counted = 0,"
            " usd = ?, batched = 0 WHERE id = ?",
            (prompt, completion, usd, ident),
        )
    largest = connection.execute(
        "SELECT coalesce(max(prompt), 0), coalesce(max(completion), 0) FROM (SELECT prompt, completion FROM replies"
        " UNION ALL SELECT prompt, completion FROM attempts WHERE id NOT IN (SELECT value FROM json_each(?)))",
        (json.dumps(damaged["attempts"]),),
    ).fetchone()
    prompt, completion = largest[0], max(largest[1], ASSUMED_REPLY_TOKENS)
    usd = None if rates is None else prompt * rates[0] + completion * rates[1]
    connection.executemany(
        "UPDATE attempts SET outcome = 'damaged', owner = '', prompt = ?, completion = ?, usd = ? WHERE id = ?",
        [(prompt, completion, usd, ident) for ident in damaged["attempts"]],
    )
    return sum(map(len, damaged.values()))


def _bounds(packed: bytes, body: str) -> tuple[int, int]:
    """The most tokens that the prompt and the reply can have."""
    request = unpack_request(packed)
    limit = parse_json(zlib.decompress(packed))["sent"].get("max_new_tokens")
    most = max(ASSUMED_REPLY_TOKENS, len(body.encode())) if limit is None else int(limit)
    return TokenCounter(None).bound(request), most


def _rates(connection: sqlite3.Connection, damaged: dict[str, list[str]]) -> Any:
    """The most US dollars per token of a prompt and of a reply in the whole rows; ``None`` if no price is known."""
    sql = (
        "SELECT max(usd / prompt), max(usd / completion) FROM (SELECT CAST(id AS TEXT) AS id, usd, prompt, completion"
        " FROM replies UNION ALL SELECT id, usd, prompt, completion FROM attempts) WHERE usd IS NOT NULL"
        " AND prompt > 0 AND completion > 0 AND id NOT IN (SELECT value FROM json_each(?))"
    )
    rates = connection.execute(sql, (json.dumps(damaged["replies"] + damaged["attempts"]),)).fetchone()
    return None if None in rates else rates
