"""Replaces damaged figures in a journal by their worst case."""

from __future__ import annotations

import json
import sqlite3
import zlib
from typing import Any

from benchbuilder.core import parse_json
from benchbuilder.models.gateway.budget import ASSUMED_REPLY_TOKENS
from benchbuilder.models.gateway.journal_tables import unpack_request
from benchbuilder.models.gateway.row_checks import CHECKED_TABLES, damaged_rows
from benchbuilder.models.gateway.token_count import TokenCounter


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
