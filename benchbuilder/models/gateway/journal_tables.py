"""The tables of the journal, and the statements that write to them."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import parse_json
from benchbuilder.models.base import Message, ReplyOutcome, Request
from benchbuilder.models.gateway.row_checks import CHECKED_TABLES, write_checksums

APPLICATION = 0x62626A72
"""The application id in the file header, which distinguishes a journal from other SQLite files."""
VERSION = 2
"""Version 1 had no digests and no writers."""

TABLES = re.sub(
    r" +--.*",
    "",
    """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,       -- of everything that shapes the reply
    loose TEXT,                     -- of all that except max_new_tokens, if that is set
    step TEXT NOT NULL,             -- the step that paid
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    outcome TEXT,                   -- null until the body was read
    prompt INTEGER NOT NULL,        -- tokens; the worst case until the body was read
    completion INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    estimated INTEGER NOT NULL,     -- 1: the service reported no usage, the tokens are our estimate
    counted INTEGER NOT NULL,       -- our own estimate of the prompt's tokens, made before the call
    max_new_tokens INTEGER,
    usd REAL,                       -- null: no price known
    prices TEXT NOT NULL,           -- date of the price table
    batched INTEGER NOT NULL,
    at TEXT NOT NULL,               -- UTC
    checksum INTEGER NOT NULL DEFAULT 0     -- of the row: see row_checks
) STRICT;
CREATE INDEX replies_loose ON replies (loose, max_new_tokens) WHERE loose IS NOT NULL;
CREATE INDEX replies_unread ON replies (model) WHERE outcome IS NULL;
CREATE TABLE bodies (
    id INTEGER PRIMARY KEY REFERENCES replies (id),
    request BLOB NOT NULL,          -- zlib, JSON: messages, sampling, sent, schema, sample
    body TEXT NOT NULL,             -- what the service sent
    digest BLOB                     -- of all that never changes about the reply: see reply_digest
) STRICT;
CREATE TABLE attempts (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,            -- the gateway that sent it
    outcome TEXT NOT NULL,             -- 'sent' while it is in flight, then why no answer was kept
    key TEXT NOT NULL,
    step TEXT NOT NULL,
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    prompt INTEGER NOT NULL,        -- the worst case
    completion INTEGER NOT NULL,
    usd REAL,
    prices TEXT NOT NULL,
    body TEXT,                      -- an answer that could not be read
    at TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE batches (
    mark TEXT PRIMARY KEY,          -- ours, in the metadata of the batch: written before it is submitted
    id TEXT,                        -- the service's; null until it is known
    owner TEXT NOT NULL,            -- the gateway that submitted it
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    state TEXT NOT NULL,            -- 'open', then what became of it
    handed_in REAL NOT NULL,        -- seconds since 1970
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE batched (              -- requests in open batches: each is an attempt too, of the owner 'batch:MARK'
    key TEXT PRIMARY KEY,
    mark TEXT NOT NULL,
    loose TEXT,
    counted INTEGER NOT NULL,
    request BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX batched_mark ON batched (mark);
CREATE TABLE unlucky (              -- requests without a reply in a batch that may be retried
    key TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    final INTEGER NOT NULL,         -- 1: a retry would not help
    why TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE writers (              -- gateways that have the file open to write
    owner TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE sums (                 -- of each table with checksums: its rows, and the sum of their checksums
    name TEXT PRIMARY KEY,
    lines INTEGER NOT NULL,
    total INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
""",
)
"""Without its comments, the schema fits on the first page of the file."""


THOUGHTS = "thoughts"
"""The table of the reasoning tokens of replies; a journal without such replies has none."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens and their cost; `usd` is ``None`` if no price is known."""

    prompt: int
    completion: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """Tokens of prompt and reply together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class JournalRequest:
    """A request with its keys, its step and model, and its worst-case cost."""

    key: str
    loose_key: str | None
    step: str
    model: str
    endpoint: str
    request: Request
    sampling: Mapping[str, Any]
    """The settings that are sent."""
    counted_tokens: int
    """Prompt tokens by our uncorrected estimate; 0 if not estimated."""
    worst_cost: Cost
    prices: str
    """Date of the price table, "" if none."""

    @property
    def max_new_tokens(self) -> int | None:
        """The token limit of the reply, if one is sent."""
        return self.sampling.get("max_new_tokens")


@dataclass(frozen=True, slots=True)
class SettledReply:
    """The outcome and cost of a reply whose body was read."""

    outcome: ReplyOutcome
    cost: Cost
    cached: int
    estimated: bool
    reasoning: int = 0
    """Tokens of the reply that are reasoning."""
    reasoning_estimated: bool = False


def pack_request(request: Request, sampling: Mapping[str, Any]) -> bytes:
    """A request as compressed JSON, with the requested settings and those that are sent."""
    parts = {
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": dict(request.sampling),
        "sent": dict(sampling),
        "schema": request.schema,
        "sample": request.sample,
    }
    return zlib.compress(json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode(), 1)


def unpack_request(packed: bytes) -> Request:
    """The request that `pack_request` packed."""
    parts = parse_json(zlib.decompress(packed))
    messages = tuple(Message(role, content) for role, content in parts["messages"])
    return Request(messages, parts["sampling"], parts["schema"], parts["sample"])


def reply_digest(
    key: str, loose: str | None, step: str, model: str, endpoint: str, packed: bytes, body: str | bytes
) -> bytes:
    """The digest that protects a reply from damage of the file."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (key, loose or "", step, model, endpoint, packed, body):
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()


def upgrade_tables(connection: sqlite3.Connection) -> None:
    """Bring the tables of version 1 to the current version; its replies get digests as they are now."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 1:  # else another process was first
            connection.execute("ALTER TABLE bodies ADD COLUMN digest BLOB")
            for statement in TABLES[TABLES.index("CREATE TABLE writers") :].split(";\n"):
                connection.execute(statement)
            for table in CHECKED_TABLES:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
            write_checksums(connection)
            connection.create_function("reply_digest", 7, reply_digest, deterministic=True)
            connection.execute(
                "UPDATE bodies SET digest = reply_digest(r.key, r.loose, r.step, r.model, r.endpoint, request, body)"
                " FROM replies AS r WHERE r.id = bodies.id"
            )
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:  # also on Ctrl-C: half a change of version must not stay
        connection.execute("ROLLBACK")
        raise


def write_attempt(connection: sqlite3.Connection, ident: str, owner: str, request: JournalRequest, time: str) -> None:
    """Record an attempt that is about to be sent."""
    cost = request.worst_cost
    row = (ident, owner, request.key, request.step, request.model, request.endpoint)
    connection.execute(
        "INSERT INTO attempts (id, owner, outcome, key, step, model, endpoint, prompt, completion, usd, prices, at)"
        " VALUES (?, ?, 'sent', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, cost.prompt, cost.completion, cost.usd, request.prices, time),
    )


def drop_attempt(connection: sqlite3.Connection, ident: str) -> None:
    """Remove an attempt that is not billed."""
    connection.execute("DELETE FROM attempts WHERE id = ?", (ident,))


def lose_attempt(connection: sqlite3.Connection, ident: str, why: str) -> None:
    """Record that an attempt may be billed although it brought no answer."""
    connection.execute("UPDATE attempts SET outcome = ? WHERE id = ?", (why, ident))


def lose_attempts(connection: sqlite3.Connection, owner: str) -> None:
    """Record at the end of a gateway that its requests in flight are lost."""
    connection.execute("UPDATE attempts SET outcome = 'abandoned' WHERE owner = ? AND outcome = 'sent'", (owner,))


def write_reply(
    connection: sqlite3.Connection,
    request: JournalRequest,
    body: str,
    time: str,
    attempt: str = "",
    *,
    batched: bool = False,
) -> bool:
    """Store a body before it is read.

    Returns:
        False if the journal already holds a reply to an equal request. The new body was paid for but is not stored: its
        attempt counts as unanswered.
    """
    cost = request.worst_cost
    row = (request.key, request.loose_key, request.step, request.model, request.endpoint, cost.prompt, cost.completion)
    done = connection.execute(
        "INSERT INTO replies (key, loose, step, model, endpoint, prompt, completion, cached, estimated, counted,"
        " max_new_tokens, usd, prices, batched, at) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 1, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO NOTHING",
        (*row, request.counted_tokens, request.max_new_tokens, cost.usd, request.prices, int(batched), time),
    )
    if done.rowcount:
        packed = pack_request(request.request, request.sampling)
        digest = reply_digest(*row[:5], packed, body)
        connection.execute(
            "INSERT INTO bodies (id, request, body, digest) VALUES (?, ?, ?, ?)", (done.lastrowid, packed, body, digest)
        )
        if attempt:
            drop_attempt(connection, attempt)
        return True
    if attempt:
        lose_attempt(connection, attempt, "answered twice")
    return False


def settle_reply(connection: sqlite3.Connection, key: str, settled: SettledReply) -> None:
    """Replace the worst case of a reply by its actual outcome and cost."""
    cost = settled.cost
    connection.execute(
        "UPDATE replies SET outcome = ?, prompt = ?, completion = ?, cached = ?, estimated = ?, usd = ?"
        " WHERE key = ? AND outcome IS NULL",
        (settled.outcome, cost.prompt, cost.completion, settled.cached, int(settled.estimated), cost.usd, key),
    )
    if settled.reasoning:
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {THOUGHTS} (key TEXT PRIMARY KEY, tokens INTEGER NOT NULL,"
            " estimated INTEGER NOT NULL) STRICT, WITHOUT ROWID"
        )
        connection.execute(
            f"INSERT OR REPLACE INTO {THOUGHTS} VALUES (?, ?, ?)",
            (key, settled.reasoning, int(settled.reasoning_estimated)),
        )


def set_aside_damaged(connection: sqlite3.Connection, ident: int) -> None:
    """Turn a reply that does not fit its digest into a billed attempt; its request may be sent again."""
    sql = (
        "SELECT key, loose, step, model, endpoint, request, CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) END,"
        " digest FROM replies LEFT JOIN bodies USING (id) WHERE id = ?"
    )
    found = connection.execute(sql, (ident,)).fetchone()
    if found is not None and (
        found[6] is None or reply_digest(*found[:7]) != found[7]
    ):  # else another process was first
        key = f"damaged {ident}"
        connection.execute("UPDATE replies SET outcome = NULL, key = ? WHERE id = ?", (key, ident))
        garble_reply(connection, key, "damaged")


def garble_reply(connection: sqlite3.Connection, key: str, why: str = "garbage") -> None:
    """Turn a body without an answer into an attempt that may be billed; the request may be sent again."""
    connection.execute(
        "INSERT INTO attempts"
        " (id, owner, outcome, key, step, model, endpoint, prompt, completion, usd, prices, body, at)"
        " SELECT lower(hex(randomblob(12))), '', ?, key, step, model, endpoint, prompt, completion, usd,"
        " prices, body, at FROM replies LEFT JOIN bodies USING (id) WHERE key = ? AND outcome IS NULL",
        (why, key),
    )
    connection.execute(
        "DELETE FROM bodies WHERE id = (SELECT id FROM replies WHERE key = ? AND outcome IS NULL)", (key,)
    )
    connection.execute("DELETE FROM replies WHERE key = ? AND outcome IS NULL", (key,))


def price_replies(
    connection: sqlite3.Connection, model: str, endpoint: str, price: tuple[float, float, float, float], prices: str
) -> None:
    """Price earlier replies without a price: USD per token of input, cached input and output, and batch factor."""
    fresh, cached, output, factor = price
    connection.execute(
        "UPDATE replies SET prices = ?, usd = ((prompt - cached) * ? + cached * ? + completion * ?)"
        " * CASE batched WHEN 1 THEN ? ELSE 1.0 END WHERE usd IS NULL AND model = ? AND endpoint = ?",
        (prices, fresh, cached, output, factor, model, endpoint),
    )
    connection.execute(
        "UPDATE attempts SET prices = ?, usd = prompt * ? + completion * ?"
        " WHERE usd IS NULL AND model = ? AND endpoint = ?",
        (prices, fresh, output, model, endpoint),
    )
