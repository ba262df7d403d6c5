"""The journal's tables of batches: which request is in which batch, and what became of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchbuilder.core import ServiceError
from benchbuilder.models.base import Model, RefusedRequestError, TransientError
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import (
    Cost,
    JournalRequest,
    drop_attempt,
    garble_reply,
    lose_attempt,
    pack_request,
    unpack_request,
    write_attempt,
    write_reply,
)

GARBLED = "an invalid answer"


@dataclass(slots=True)
class OpenBatch:
    """A batch that was submitted, or may have been, and is not collected yet."""

    mark: str
    id: str | None
    owner: str
    handed_in: float
    """Seconds since 1970."""
    message: str = ""
    """The last message about it."""


@dataclass(frozen=True, slots=True)
class BatchFailure:
    """A request that got no reply in a batch."""

    failures: int
    final: bool
    why: str


# reading


def open_batches(journal: Journal, model: str, endpoint: str) -> list[OpenBatch]:
    """Batches of a model that are not collected, the oldest first."""
    sql = (
        "SELECT mark, id, owner, handed_in FROM batches WHERE state = 'open' AND model = ? AND endpoint = ?"
        " ORDER BY handed_in, mark"
    )
    return [OpenBatch(*row) for row in journal.rows(sql, model, endpoint)]


def keys_in_batches(journal: Journal, keys: Iterable[str]) -> set[str]:
    """The keys that are in an open batch."""
    sql = "SELECT key FROM batched WHERE key IN (SELECT value FROM json_each(?))"
    return {key for (key,) in journal.rows(sql, json.dumps(list(keys)))}


def unfinished_requests(journal: Journal, mark: str) -> list[str]:
    """Keys of the requests of a batch without a result."""
    return [key for (key,) in journal.rows("SELECT key FROM batched WHERE mark = ?", mark)]


def batch_requests(journal: Journal, mark: str, keys: Iterable[str], model: Model) -> dict[str, JournalRequest]:
    """The requests of an open batch, by key."""
    sql = (
        "SELECT b.key, b.loose, a.step, a.model, a.endpoint, b.request, b.counted, a.prompt, a.completion, a.usd,"
        " a.prices FROM batched AS b JOIN attempts AS a ON a.id = b.mark || '/' || b.key"
        " WHERE b.mark = ? AND b.key IN (SELECT value FROM json_each(?))"
    )
    found: dict[str, JournalRequest] = {}
    for key, loose, step, label, endpoint, packed, counted, prompt, completion, usd, prices in journal.rows(
        sql, mark, json.dumps(list(keys))
    ):
        request = unpack_request(packed)
        worst, sampling = Cost(prompt, completion, usd), model.sent_settings(request.sampling)
        found[key] = JournalRequest(key, loose, step, label, endpoint, request, sampling, counted, worst, prices)
    return found


def request_failures(journal: Journal, keys: Iterable[str]) -> dict[str, BatchFailure]:
    """Failures of requests that got no reply in a batch, by key."""
    sql = "SELECT key, failures, final, why FROM unlucky WHERE key IN (SELECT value FROM json_each(?))"
    return {
        key: BatchFailure(failures, bool(final), why)
        for key, failures, final, why in journal.rows(sql, json.dumps(list(keys)))
    }


# writing


def record_batch_intent(
    connection: sqlite3.Connection, batch: OpenBatch, requests: Sequence[JournalRequest], time: str
) -> None:
    """Record that a batch is about to be submitted: from now on its requests are sent nowhere else."""
    first = requests[0]
    connection.execute(
        "INSERT INTO batches (mark, id, owner, model, endpoint, state, handed_in) VALUES (?, NULL, ?, ?, ?, 'open', ?)",
        (batch.mark, batch.owner, first.model, first.endpoint, batch.handed_in),
    )
    for one in requests:
        write_attempt(connection, _attempt(batch.mark, one.key), f"batch:{batch.mark}", one, time)
        connection.execute(
            "INSERT INTO batched (key, mark, loose, counted, request) VALUES (?, ?, ?, ?, ?)",
            (one.key, batch.mark, one.loose_key, one.counted_tokens, pack_request(one.request, one.sampling)),
        )


def record_batch_submission(connection: sqlite3.Connection, mark: str, ident: str) -> None:
    """Record the id that the service gave a batch."""
    connection.execute("UPDATE batches SET id = ? WHERE mark = ?", (ident, mark))


def close_batch(connection: sqlite3.Connection, mark: str, state: str, *, lost: str = "") -> tuple[float, int]:
    """Close a batch as `state`, and free its unfinished requests; they are billed if `lost` says why.

    Returns:
        The US dollars and tokens that were reserved for it and are not charged.
    """
    owner = f"batch:{mark}"
    refund = (0.0, 0)
    if lost:
        connection.execute("UPDATE attempts SET outcome = ? WHERE owner = ? AND outcome = 'sent'", (lost, owner))
    else:
        sums = "SELECT coalesce(sum(usd), 0.0), coalesce(sum(prompt + completion), 0) FROM attempts"
        refund = connection.execute(f"{sums} WHERE owner = ? AND outcome = 'sent'", (owner,)).fetchone()
        connection.execute("DELETE FROM attempts WHERE owner = ? AND outcome = 'sent'", (owner,))
    connection.execute("DELETE FROM batched WHERE mark = ?", (mark,))
    connection.execute("UPDATE batches SET state = ? WHERE mark = ?", (state, mark))
    return refund


def write_results(
    connection: sqlite3.Connection, mark: str, results: Sequence[tuple[JournalRequest, str | Exception]], time: str
) -> set[str]:
    """Store results of a batch before they are read; return the keys that already had a reply."""
    late: set[str] = set()
    for asked, result in results:
        key = asked.key
        connection.execute("DELETE FROM batched WHERE key = ? AND mark = ?", (key, mark))
        if isinstance(result, str):
            if not write_reply(connection, asked, result, time, _attempt(mark, key), batched=True):
                late.add(key)
            continue
        if isinstance(result, TransientError) and result.billed:
            lose_attempt(connection, _attempt(mark, key), str(result)[:500])
        else:
            drop_attempt(connection, _attempt(mark, key))
        if not isinstance(result, ServiceError):
            _note(connection, key, str(result), final=isinstance(result, RefusedRequestError))
    return late


def garble_result(connection: sqlite3.Connection, key: str, why: str) -> None:
    """Record that a body holds no answer."""
    garble_reply(connection, key)
    _note(connection, key, f"{GARBLED}: {why}", final=False)


def forget_failure(connection: sqlite3.Connection, key: str) -> None:
    """Forget a failure: a reply came, or the row failed with it and the next build may try again."""
    connection.execute("DELETE FROM unlucky WHERE key = ?", (key,))


def _note(connection: sqlite3.Connection, key: str, why: str, *, final: bool) -> None:
    connection.execute(
        "INSERT INTO unlucky (key, failures, final, why) VALUES (?, 1, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET failures = failures + 1, final = excluded.final, why = excluded.why",
        (key, int(final), why),
    )


def _attempt(mark: str, key: str) -> str:
    """The id of an attempt that is a request in a batch."""
    return f"{mark}/{key}"
