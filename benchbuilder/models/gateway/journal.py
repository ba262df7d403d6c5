"""The journal: stores every paid reply on disk before it is read."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import StoreError, make_folder
from benchbuilder.models.base import ReplyOutcome, Request
from benchbuilder.models.gateway.bloom_filter import BloomFilter
from benchbuilder.models.gateway.journal_tables import APPLICATION, TABLES, VERSION, unpack_request

Work = Callable[[sqlite3.Connection], Any]
"""A change of the database, made inside a transaction of the writer thread."""
_Waiter = asyncio.Future[Any] | Future[Any] | None
_BUSY_S = 60.0
_GROUP_SIZE = 1024
_NOTIFY_CHUNK = 4
"""Waiters are notified a few at a time: all at once, they would send all their next requests at once."""


@dataclass(frozen=True, slots=True)
class JournaledReply:
    """A stored reply; `outcome` is ``None`` if its body has not been read yet."""

    key: str
    body: str
    outcome: ReplyOutcome | None


class Journal:
    """A SQLite file in WAL mode, written by one thread that commits in groups.

    Nothing is created on disk before the first write. Several processes may use one file; `find` sees the entries of
    another process once the journal is reopened. StoreError is raised if the file is damaged, of another version or
    cannot be written; after that, no write is confirmed.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._reader: sqlite3.Connection | None = None
        self._reading = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Work, _Waiter] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._failed: StoreError | None = None
        self._is_reported = False
        self._known: BloomFilter | None = None

    # reading

    def find(self, key: str) -> JournaledReply | None:
        """The reply to the request with this key, or ``None``."""
        if key not in self._keys():
            return None
        rows = self.rows("SELECT key, body, outcome FROM replies JOIN bodies USING (id) WHERE key = ?", key)
        return JournaledReply(*rows[0]) if rows else None

    def _keys(self) -> BloomFilter:
        """The keys that may be stored. Most requests are new, and a query of the file is the most expensive part."""
        if self._known is None:
            self._known = known = BloomFilter()
            last = 0
            while rows := self.rows("SELECT id, key FROM replies WHERE id > ? ORDER BY id LIMIT 10000", last):
                for last, key in rows:  # noqa: B007 - the next page begins after it
                    known.add(key)
        return self._known

    def find_complete(self, loose: str, limit: int | None) -> JournaledReply | None:
        """The complete reply to an equal request with the highest `max_new_tokens` below `limit`."""
        sql = (
            "SELECT key, body, outcome FROM replies JOIN bodies USING (id) WHERE loose = ?1 AND outcome = 'complete'"
            " AND (?2 IS NULL OR max_new_tokens < ?2) ORDER BY max_new_tokens DESC LIMIT 1"
        )
        rows = self.rows(sql, loose, limit)
        return JournaledReply(*rows[0]) if rows else None

    def unread(self, model: str, endpoint: str) -> list[tuple[str, str, bytes, bool]]:
        """Replies that a kill left unread: key, body, packed request, and whether it was batched."""
        sql = (
            "SELECT key, body, request, batched FROM replies JOIN bodies USING (id)"
            " WHERE outcome IS NULL AND model = ? AND endpoint = ?"
        )
        return [(key, body, packed, bool(batched)) for key, body, packed, batched in self.rows(sql, model, endpoint)]

    def entries(self, step: str | None = None) -> Iterator[tuple[str, Request, str]]:
        """Key, request and body of every reply, in order of arrival."""
        last = 0
        sql = (
            "SELECT id, key, request, body FROM replies JOIN bodies USING (id)"
            " WHERE id > ?1 AND (?2 IS NULL OR step = ?2) ORDER BY id LIMIT 256"
        )
        while rows := self.rows(sql, last, step):
            for last, key, packed, body in rows:  # noqa: B007 - the next page begins after it
                yield key, unpack_request(packed), body

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a query; none if there is no journal yet."""
        with self._reading:
            try:
                if self._reader is None:
                    if not self.file.exists():
                        return []
                    self._reader = self._connect(make=False)
                if self._reader is None:
                    return []
                return self._reader.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise _journal_error(self.file, error) from error

    # writing

    def commit_later(self, work: Work) -> None:
        """Do `work` with the next commit; a failure is raised by the next call that writes."""
        self._put(work, None)

    async def commit(self, work: Work) -> Any:
        """Do `work` and return its result once it is on disk."""
        waiter: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(work, waiter)
        return await waiter

    def commit_now(self, work: Work) -> Any:
        """`commit` for code without an event loop."""
        waiter: Future[Any] = Future()
        self._put(work, waiter)
        return waiter.result()

    def close(self) -> None:
        """Write pending changes and close the file; StoreError for an unreported failure to write."""
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        with self._reading:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
        if self._failed is not None and not self._is_reported:
            self._is_reported = True
            raise self._failed

    def _put(self, work: Work, waiter: _Waiter) -> None:
        if self._failed is not None:
            self._is_reported = True
            raise self._failed
        if self._writer is None:
            make_folder(self.file.parent)
            try:
                connection = self._connect(make=True)
            except sqlite3.Error as error:
                raise _journal_error(self.file, error) from error
            if connection is None:
                raise _wrong_version(self.file, 0, 0)
            connection.create_function("note_key", 1, self._keys().add)
            connection.execute(
                "CREATE TEMP TRIGGER note_keys AFTER INSERT ON main.replies BEGIN SELECT note_key(new.key); END"
            )
            self._writer = threading.Thread(target=self._write, args=(connection,), name="journal", daemon=True)
            self._writer.start()
        self._queue.put((work, waiter))

    def _write(self, connection: sqlite3.Connection) -> None:
        """The writer thread: all pending changes form one transaction."""
        with contextlib.closing(connection):
            open_ended = True
            while open_ended:
                group = [self._queue.get()]
                with contextlib.suppress(queue.Empty):
                    while group[-1] is not None and len(group) < _GROUP_SIZE:
                        group.append(self._queue.get_nowait())
                open_ended = group[-1] is not None
                self._write_group(connection, [entry for entry in group if entry is not None])

    def _write_group(self, connection: sqlite3.Connection, group: list[tuple[Work, _Waiter]]) -> None:
        results: list[tuple[_Waiter, Any]] = []
        if self._failed is None:
            try:
                connection.execute("BEGIN IMMEDIATE")
                results = [(waiter, work(connection)) for work, waiter in group]
                connection.execute("COMMIT")
            except BaseException as error:  # noqa: BLE001 - all who wait raise it: nobody waits for ever
                self._failed = _journal_error(self.file, error)
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
        if self._failed is not None:
            results = [(waiter, self._failed) for _, waiter in group]
            self._is_reported = self._is_reported or any(waiter is not None for waiter, _ in results)
        _notify_waiters(results)

    def _connect(self, *, make: bool) -> sqlite3.Connection | None:
        """A connection in autocommit mode to a journal of this version; ``None`` if the file is still empty."""
        uri = f"{self.file.resolve().as_uri()}?mode={'rwc' if make else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")  # each commit syncs the write-ahead log
            connection.execute("PRAGMA fullfsync = ON")  # of macOS, where a sync leaves data in the cache of the disk
            if make:
                _create_tables(connection)
            found = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if not (found or version or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
                connection.close()
                return None
            if (found, version) != (APPLICATION, VERSION):
                raise _wrong_version(self.file, found, version)
        except BaseException:  # also on Ctrl-C: an open connection would keep its locks
            connection.close()
            raise
        return connection


def _create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file; two processes may do so at the same time."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0]:
                return
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # a change of the journal mode does not wait for locks
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    finally:
        connection.execute("COMMIT")


def _notify_waiters(results: list[tuple[_Waiter, Any]]) -> None:
    """Resolve the futures of the waiters; those of an event loop in one call."""
    waiting: list[tuple[asyncio.Future[Any], Any]] = []
    for waiter, result in results:
        if isinstance(waiter, Future):
            waiter.set_exception(result) if isinstance(result, StoreError) else waiter.set_result(result)
        elif waiter is not None:
            waiting.append((waiter, result))
    if waiting:
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
            waiting[0][0].get_loop().call_soon_threadsafe(_resolve, waiting)


def _resolve(waiting: list[tuple[asyncio.Future[Any], Any]]) -> None:
    if len(waiting) > _NOTIFY_CHUNK:
        waiting[0][0].get_loop().call_soon(_resolve, waiting[_NOTIFY_CHUNK:])
    for waiter, result in waiting[:_NOTIFY_CHUNK]:
        if waiter.done():
            continue
        if isinstance(result, StoreError):
            waiter.set_exception(result)
        else:
            waiter.set_result(result)


def _journal_error(file: Path, error: BaseException) -> StoreError:
    """Explain an error of SQLite."""
    text, state = str(error), "cannot be used"
    next = "check that the file and its folder are writable and that no other program locks it, then run again"
    if "full" in text or "disk I/O" in text:
        state, next = (
            "cannot be written",
            "make room on the disk and run the same command again: earlier replies are kept",
        )
    elif "not a database" in text or "malformed" in text:
        state, next = "is damaged", "replace it by a backup; or move it away and pay again for its replies"
    return StoreError(f"the journal of replies {state}", where=str(file), why=text, next=next)


def _wrong_version(file: Path, application: int, version: int) -> StoreError:
    what = "this file is not a journal of replies"
    if application == APPLICATION:
        what = f"the journal of replies is of version {version}, this benchbuilder reads version {VERSION}"
    return StoreError(what, where=str(file), next="use the benchbuilder that wrote it, or move the file away")
