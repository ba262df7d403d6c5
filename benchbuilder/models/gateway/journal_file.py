"""The file of the journal: makes it, opens it to read or to write, and explains what is wrong with it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import StoreError, make_folder, sync_paths
from benchbuilder.models.gateway.journal_tables import APPLICATION, TABLES, VERSION, upgrade_tables
from benchbuilder.models.gateway.process_owner import is_owner_alive
from benchbuilder.models.gateway.row_checks import keep_checksums, write_checksums

_BUSY_S = 60.0
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises: the second where SQLite repeats a broken text in its message."""
_SALVAGE = (
    "put a backup in its place; or `benchbuild salvage-replies FILE` moves the readable replies into a new journal and "
    "keeps the damaged file"
)


@dataclass(frozen=True, slots=True)
class JournalReader:
    """A connection that can only read. `stands_still`: nobody wrote when it was opened, and no change is seen."""

    connection: sqlite3.Connection
    version: int
    stands_still: bool


def write_ahead_log(file: Path) -> Path:
    """The file beside a journal that holds the newest replies while it is open, and after a kill."""
    return file.with_name(f"{file.name}-wal")


def open_reader(file: Path) -> JournalReader | None:
    """Open a journal to read; ``None`` if there is none. Nothing is created or changed, also after a kill."""
    if not _is_there(file):
        return None
    stands_still = not write_ahead_log(file).exists()
    # without a log, a connection would make one and leave it behind
    connection = _connect(file, "mode=ro&immutable=1" if stands_still else "mode=ro")
    connection.text_factory = decode_text
    with _closed_on_error(connection):
        version = _check(connection, file, has_log=not stands_still)
    return JournalReader(connection, version, stands_still)


def open_writer(file: Path, owner: str) -> sqlite3.Connection:
    """Open a journal to write, made if there is none; `owner` is noted in it until `close_writer`."""
    make_folder(file.parent)
    if not _is_there(file):
        _make(file)
    has_log = write_ahead_log(file).exists()
    connection = _connect(file, "mode=rw")
    with _closed_on_error(connection):
        connection.execute("PRAGMA synchronous = FULL")  # each commit syncs the write-ahead log
        connection.execute("PRAGMA fullfsync = ON")  # of macOS, where a sync leaves data in the cache of the disk
        if _check(connection, file, has_log=has_log) < VERSION:
            upgrade_tables(connection)
        keep_checksums(connection)
        owners = [name for (name,) in connection.execute("SELECT owner FROM writers")]
        gone = [(name,) for name in owners if not is_owner_alive(name)]
        connection.executemany("DELETE FROM writers WHERE owner = ?", gone)
        connection.execute("INSERT OR IGNORE INTO writers (owner) VALUES (?)", (owner,))
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()  # into the file itself: see `_check`
    return connection


def close_writer(connection: sqlite3.Connection, owner: str) -> None:
    """Close a connection that `open_writer` opened."""
    with contextlib.closing(connection), contextlib.suppress(sqlite3.Error):
        connection.execute("DELETE FROM writers WHERE owner = ?", (owner,))


def decode_text(data: bytes) -> str:
    """A text of the file; a damaged one does not stop a query, and then misses its digest."""
    return data.decode("utf-8", "replace")


def make_tables(file: Path) -> None:
    """Write an empty journal to a new file, and put it on disk."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in TABLES.split(";\n"):
            connection.execute(statement)
        write_checksums(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    sync_paths([file])


def put_in_place(new: Path, file: Path) -> None:
    """Give a complete new file its name, unless that is taken meanwhile."""
    try:
        os.link(new, file)
    except FileExistsError:
        pass  # another process was first
    except OSError:  # a file system without links
        new.rename(file)
    finally:
        new.unlink(missing_ok=True)
    sync_paths([file.parent])


def journal_error(file: Path, error: BaseException) -> StoreError:
    """Explain an error of SQLite."""
    text, state = str(error), "cannot be used"
    next = "check that the file and its folder are writable and that no other program locks it, then run again"
    if "full" in text or "disk I/O" in text:
        state, next = (
            "cannot be written",
            "make room on the disk and run the same command again: earlier replies are kept",
        )
    elif "not a database" in text or "malformed" in text or isinstance(error, UnicodeDecodeError):
        return damaged_journal(file, text)
    elif "unable to open" in text and write_ahead_log(file).exists():
        next = f"copy it, together with {write_ahead_log(file).name}, to a folder that you may write to"
    return StoreError(f"the journal of replies {state}", where=str(file), why=text, next=next)


def damaged_journal(file: Path, why: str) -> StoreError:
    """The error about a damaged file, which is neither changed nor replaced."""
    return StoreError(
        "the journal of replies is damaged", where=str(file), why=why, next=_SALVAGE.replace("FILE", str(file))
    )


def _is_there(file: Path) -> bool:
    """Whether the file exists; StoreError if it is empty: a journal gets its name when its tables are in it."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        if write_ahead_log(file).exists():
            raise damaged_journal(file, f"it is missing, and {write_ahead_log(file).name} is there") from None
        return False
    if not size:
        next = "put a backup in its place; or remove the file, which gives up the replies that it held"
        raise StoreError("the journal of replies is damaged", where=str(file), why="it is empty", next=next)
    return True


def _make(file: Path) -> None:
    """Make an empty journal: complete under another name, then put in its place."""
    new = file.with_name(f".{file.name}-{uuid.uuid4().hex[:8]}")
    make_tables(new)
    put_in_place(new, file)


def _connect(file: Path, mode: str) -> sqlite3.Connection:
    uri = f"{file.resolve().as_uri()}?{mode}"
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Generator[None]:
    try:
        yield
    except BaseException:  # also on Ctrl-C: an open connection would keep its locks
        connection.close()
        raise


def _check(connection: sqlite3.Connection, file: Path, *, has_log: bool) -> int:
    """The version of a journal; StoreError for another file, another version, or a lost write-ahead log."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != APPLICATION or not 1 <= version <= VERSION:
        raise _wrong_version(file, found, version)
    if version == VERSION and not has_log:
        owners = connection.execute("SELECT owner FROM writers").fetchall()
        if owners and not any(is_owner_alive(owner) for (owner,) in owners):
            raise StoreError(
                "the journal of replies has lost its newest replies",
                where=str(file),
                why=f"a command was killed while it wrote, and {write_ahead_log(file).name} is missing",
                next=f"put {write_ahead_log(file).name} back beside it; or give up what is in it: "
                f"`benchbuild salvage-replies {file}`",
            )
    return version


def _wrong_version(file: Path, application: int, version: int) -> StoreError:
    what = "this file is not a journal of replies"
    if application == APPLICATION:
        what = f"the journal of replies is of version {version}, this benchbuilder reads versions 1 to {VERSION}"
    return StoreError(what, where=str(file), next="use the benchbuilder that wrote it, or move the file away")
