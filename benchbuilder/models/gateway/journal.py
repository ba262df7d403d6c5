"""The journal: stores every paid reply on disk before it is read."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchbuilder.core import StoreError
from benchbuilder.models.base import ReplyOutcome, Request
from benchbuilder.models.gateway.journal_file import (
    DAMAGE,
    JournalReader,
    close_writer,
    damaged_journal,
    journal_error,
    open_reader,
    open_writer,
    write_ahead_log,
)
from benchbuilder.models.gateway.journal_tables import reply_digest, set_aside_damaged, unpack_request
from benchbuilder.models.gateway.process_owner import new_owner
from benchbuilder.models.gateway.row_checks import row_problems

Work = Callable[[sqlite3.Connection], Any]
"""A change of the database, made inside a transaction of the writer thread."""
_Waiter = asyncio.Future[Any] | Future[Any] | None
_GROUP_SIZE = 1024
_NOTIFY_CHUNK = 4
"""Waiters are notified a few at a time: all at once, they would send all their next requests at once."""


@dataclass(frozen=True, slots=True)
class JournaledReply:
    """A stored reply; `outcome` is ``None`` if its body has not been read yet."""

    key: str
    body: str
    outcome: ReplyOutcome | None


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A reply with its id and its packed request."""

    ident: int
    reply: JournaledReply
    packed: bytes
    batched: bool


class Journal:
    """A SQLite file in WAL mode, written by one thread that commits in groups.

    Nothing is created on disk before the first write. Several processes may use one file; `find` sees the entries of
    another process once the journal is reopened. StoreError is raised if the file is damaged, of another version or
    cannot be written; after that, no write is confirmed. `notice` hears of damaged replies; `owner` names the gateway.
    """

    def __init__(self, file: Path, notice: Callable[[str], None] = lambda _: None, owner: str = "") -> None:
        self.file = file
        self._notice, self._owner = notice, owner or new_owner()
        self._damaged: set[int] = set()
        self._reader: JournalReader | None = None
        self._reading = threading.Lock()
        self._queue: queue.SimpleQueue[tuple[Work, _Waiter] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._failed: StoreError | None = None
        self._is_reported = False
        self._known: set[int] | None = None

    # reading

    def find(self, key: str) -> JournaledReply | None:
        """The reply to the request with this key; ``None`` if there is none, or only a damaged one."""
        if hash(key) not in self._keys():
            return None
        found = self._replies("key = ?", key)
        return found[0].reply if found else None

    def find_complete(self, loose: str, limit: int | None) -> JournaledReply | None:
        """The complete reply to an equal request with the highest `max_new_tokens` below `limit`."""
        where = (
            "loose = ?1 AND outcome = 'complete' AND (?2 IS NULL OR max_new_tokens < ?2)"
            " ORDER BY max_new_tokens DESC LIMIT 1"
        )
        found = self._replies(where, loose, limit)
        return found[0].reply if found else None

    def unread(self, model: str, endpoint: str) -> list[tuple[JournaledReply, bytes, bool]]:
        """Replies that a kill left unread, each with its packed request and whether it was batched."""
        found = self._replies("outcome IS NULL AND model = ? AND endpoint = ?", model, endpoint)
        return [(entry.reply, entry.packed, entry.batched) for entry in found]

    def entries(self, step: str | None = None) -> Iterator[tuple[str, Request, str]]:
        """Key, request and body of every reply, in order of arrival."""
        last = 0
        while page := self.rows("SELECT id FROM replies WHERE id > ? ORDER BY id LIMIT 256", last):
            first, last = page[0][0], page[-1][0]
            for entry in self._replies(
                "id BETWEEN ? AND ? AND (?3 IS NULL OR step = ?3) ORDER BY id", first, last, step
            ):
                yield entry.reply.key, unpack_request(entry.packed), entry.reply.body

    def check(self) -> None:
        """StoreError if a figure is damaged or a row is lost: no sum may be used then. The file is read once."""
        self._keys()

    def set_aside_damaged(self) -> None:
        """Make the damaged replies that were met so far billed attempts: their requests may be sent again."""
        while self._damaged:
            self.commit_later(partial(set_aside_damaged, ident=self._damaged.pop()))

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """The rows of a query; none if there is no journal yet."""
        with self._reading:
            try:
                reader = self._open_reader()
                return [] if reader is None else reader.connection.execute(sql, values).fetchall()
            except DAMAGE as error:
                raise journal_error(self.file, error) from error

    def _open_reader(self) -> JournalReader | None:
        reader = self._reader
        if reader is not None and reader.stands_still and write_ahead_log(self.file).exists():
            reader.connection.close()  # somebody writes now
            reader = None
        self._reader = None
        if reader is None:
            try:
                reader = open_reader(self.file)
            except DAMAGE as error:
                raise journal_error(self.file, error) from error
        self._reader = reader
        return reader

    def _replies(self, where: str, *values: Any) -> list[StoredEntry]:
        """Whole replies under a condition; those that do not fit their digest are named and left out."""
        with self._reading:
            reader = self._open_reader()
            if reader is None:
                return []
            digest = "digest" if reader.version > 1 else "NULL"
        sql = (
            f"SELECT id, key, loose, step, model, endpoint, request, body, {digest}, outcome, batched"
            f" FROM replies LEFT JOIN bodies USING (id) WHERE {where}"
        )
        found: list[StoredEntry] = []
        for ident, key, loose, step, model, endpoint, packed, body, held, outcome, batched in self.rows(sql, *values):
            if not isinstance(body, str) or (
                reader.version > 1 and reply_digest(key, loose, step, model, endpoint, packed, body) != held
            ):
                self._note_damaged(ident, key, step, model)
            else:
                found.append(StoredEntry(ident, JournaledReply(key, body, outcome), packed, bool(batched)))
        return found

    def _note_damaged(self, ident: int, key: str, step: str, model: str) -> None:
        if ident not in self._damaged:
            self._damaged.add(ident)
            self._notice(
                f"a reply in {self.file.name} is damaged and not used (key {key[:12]}, step {step}, model {model}): "
                "its request counts as new, under the quote and the budget"
            )

    def _keys(self) -> set[int]:
        """The hashes of the stored keys. Most requests are new, and a query of the file is the most expensive part.

        The keys are read from the table and from its index, so that no damaged key makes a paid reply disappear.
        """
        if self._known is None:
            known, sums = set[int](), [0, 0]
            problems: list[str] = []
            with self._reading:
                try:
                    reader = self._open_reader()
                    if reader is not None:
                        reader.connection.execute("BEGIN")
                        scan = "SELECT key FROM replies"
                        typed = reader.connection.execute(f"{scan} NOT INDEXED WHERE typeof(key) = 'text'")
                        sums[0] = sum(map(hash, typed))
                        keys = reader.connection.execute(f"{scan} INDEXED BY sqlite_autoindex_replies_1").fetchall()
                        sums[1] = sum(map(hash, keys))
                        if sums[0] == sums[1]:  # equal sums, equal keys
                            known.update(hash(key) for (key,) in keys)
                        problems = list(row_problems(reader.connection)) if reader.version > 1 else []
                        reader.connection.execute("COMMIT")
                except DAMAGE as error:
                    raise journal_error(self.file, error) from error
            if sums[0] != sums[1]:
                problems.insert(0, "its index does not fit its replies")
            if problems:
                raise damaged_journal(self.file, "; ".join(problems))
            self._known = known
        return self._known

    # writing

    @property
    def is_writing(self) -> bool:
        """Whether the file is open to write."""
        return self._writer is not None

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
        with self._reading:  # first: the last connection removes the write-ahead log, and a reader may not
            if self._reader is not None:
                self._reader.connection.close()
                self._reader = None
        self._stop_writing()
        if self._failed is not None and not self._is_reported:
            self._is_reported = True
            raise self._failed

    def _stop_writing(self) -> None:
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
            atexit.unregister(self._stop_writing)

    def _put(self, work: Work, waiter: _Waiter) -> None:
        if self._failed is not None:
            self._is_reported = True
            raise self._failed
        if self._writer is None:
            known = self._keys()  # before anything is changed: it reads all keys
            try:
                connection = open_writer(self.file, self._owner)
            except DAMAGE as error:
                raise journal_error(self.file, error) from error

            def note_key(key: str) -> None:
                known.add(hash(key))

            connection.create_function("note_key", 1, note_key)
            connection.execute(
                "CREATE TEMP TRIGGER note_keys AFTER INSERT ON main.replies BEGIN SELECT note_key(new.key); END"
            )
            self._writer = threading.Thread(target=self._write, args=(connection,), name="journal", daemon=True)
            self._writer.start()
            atexit.register(self._stop_writing)  # else the file would seem to have lost its log
        self._queue.put((work, waiter))

    def _write(self, connection: sqlite3.Connection) -> None:
        """The writer thread: all pending changes form one transaction."""
        open_ended = True
        while open_ended:
            group = [self._queue.get()]
            with contextlib.suppress(queue.Empty):
                while group[-1] is not None and len(group) < _GROUP_SIZE:
                    group.append(self._queue.get_nowait())
            open_ended = group[-1] is not None
            self._write_group(connection, [entry for entry in group if entry is not None])
        close_writer(connection, self._owner)

    def _write_group(self, connection: sqlite3.Connection, group: list[tuple[Work, _Waiter]]) -> None:
        results: list[tuple[_Waiter, Any]] = []
        if self._failed is None:
            try:
                connection.execute("BEGIN IMMEDIATE")
                results = [(waiter, work(connection)) for work, waiter in group]
                connection.execute("COMMIT")
            except BaseException as error:  # noqa: BLE001 - all who wait raise it: nobody waits for ever
                self._failed = journal_error(self.file, error)
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
        if self._failed is not None:
            results = [(waiter, self._failed) for _, waiter in group]
            self._is_reported = self._is_reported or any(waiter is not None for waiter, _ in results)
        _notify_waiters(results)


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
