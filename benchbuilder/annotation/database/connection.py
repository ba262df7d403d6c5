"""Connects to SQLite and PostgreSQL, runs transactions, and explains database errors in plain words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from benchbuilder.core import DataError, connection_encryption, display_database_url, imports_of, parse_database_url

_TRY_AGAIN = "nothing was saved; try again"
_TEXTS = {
    "locked": (
        "another program has been writing to it for too long",
        "close other programs that use it, and try again",
    ),
    "busy": ("another program has been writing to it for too long", "close other programs that use it, and try again"),
    "full": ("the disk is full", "make room, and try again"),
    "readonly": ("it is read-only", "grant yourself write access to the file and its folder"),
    "unable to open": ("its file cannot be opened", "check that the file and its folder exist and belong to you"),
    "i/o": ("the disk cannot be read or written", "check the disk, and try again"),
    "malformed": ("its file is damaged", "restore a backup of the file"),
    "refuses ssl": ("the server does not encrypt connections", "leave out sslmode, or configure the server for it"),
    "certificate": ("the certificate of the server is not trusted", "set its certificate authority with sslrootcert"),
}
_CODES = {
    "08": ("the connection was lost", _TRY_AGAIN),
    "28": ("the server refuses the user or the password", "check both in the URL"),
    "3D": ("the server has no database of that name", "create it, or correct the name in the URL"),
    "40": ("somebody else changed the same data at the same time", _TRY_AGAIN),
    "42501": ("the server does not permit this user to do it", "grant the user the right to create and write tables"),
    "53100": ("the disk of the server is full", "make room, and try again"),
    "53": ("the server has no connections or memory left", "close other connections, and try again"),
    "55": ("another program has been writing to it for too long", _TRY_AGAIN),
    "57": ("the server was shut down, or ended the connection", _TRY_AGAIN),
    "58": ("the disk of the server cannot be read or written", "check the server, and try again"),
}


def explain_database_error(error: BaseException) -> tuple[str, str]:
    """The reason in plain words and what to do next; both empty if unknown."""
    orig: Any = error.orig if isinstance(error, DBAPIError) else error
    code = _code(orig)
    for start in (code, code[:2]):
        if start in _CODES:
            return _CODES[start]
    text = "" if code else str(orig).casefold()
    return next((explanation for sign, explanation in _TEXTS.items() if sign in text), ("", ""))


def _code(orig: Any) -> str:
    first = orig.args[0] if getattr(orig, "args", ()) else None
    return str(first.get("C", "")) if isinstance(first, dict) else ""


def make_database_error(error: BaseException, url: URL) -> DataError | None:
    """The error to show to people, or ``None`` if `error` is a bug of this program."""
    why, next_ = explain_database_error(error)
    away = isinstance(error, (OperationalError, InterfaceError)) or bool(getattr(error, "connection_invalidated", 0))
    lost = away and url.get_backend_name() != "sqlite"
    if not why and not lost and isinstance(error, DBAPIError):
        return None
    return DataError(
        "the database of votes cannot be used at the moment",
        where=display_database_url(url),
        why=why or "it cannot be reached, or does not answer",
        next=next_ or f"check that it exists and is running; {_TRY_AGAIN}",
    )


_TIMEOUT_SECONDS = 30
_WRITES = "benchbuilder_writes"
_LOCK_NUMBER = 7_202_511_900_017
"""Number of the advisory lock that writers take in PostgreSQL."""


class Transactions:
    """Transactions on one database.

    In SQLite, `writing` transactions run one after another. In PostgreSQL they run concurrently and lock their rows.
    ``exclusive`` transactions, which change assignments, never overlap with other writing transactions.
    """

    def __init__(self, url: str) -> None:
        self.url = parse_database_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(self.url) if self.sqlite else _postgresql(self.url)
        self._turn = threading.Lock()

    @property
    def location(self) -> str:
        """Host and database, or the file."""
        return display_database_url(self.url)

    @contextmanager
    def reading(self, *, wrap_errors: bool = True) -> Generator[Connection]:
        """Begin a transaction that reads; in SQLite it sees one snapshot.

        Raises:
            DataError: the database cannot be used (if `wrap_errors`).
        """
        with self._wrapping_errors() if wrap_errors else nullcontext(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, exclusive: bool = False, wrap_errors: bool = True) -> Generator[Connection]:
        """Begin a transaction that writes; it commits all changes, or none on an error."""
        turn = self._turn if self.sqlite else nullcontext()
        with self._wrapping_errors() if wrap_errors else nullcontext(), turn, self.engine.connect() as plain:
            connection = plain.execution_options(**{_WRITES: True})
            with connection.begin():
                if not self.sqlite:
                    lock = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
                    connection.execute(text(f"SELECT {lock}(:key)"), {"key": _LOCK_NUMBER})
                yield connection

    @contextmanager
    def _wrapping_errors(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, NoConnectionLeft, OSError) as error:
            explained = make_database_error(error, self.url)
            if explained is None:
                raise
            raise explained from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class StoreBase:
    """A database of votes, and the clock that dates changes to it. Leaving the context closes all connections."""

    def __init__(self, transactions: Transactions, clock: Callable[[], datetime]) -> None:
        self._transactions = transactions
        self._clock = clock

    def now(self) -> datetime:
        """The current time by the clock of the store."""
        return self._clock()

    def close(self) -> None:
        """Close all connections."""
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _sqlite(url: URL) -> Engine:
    engine = create_engine(
        url, pool_size=16, max_overflow=48, pool_timeout=_TIMEOUT_SECONDS, hide_parameters=True,
        connect_args={"timeout": _TIMEOUT_SECONDS, "check_same_thread": False, "isolation_level": None},
    )  # fmt: skip

    def connected(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        for pragma in (
            "foreign_keys = ON",
            "synchronous = FULL",
            "fullfsync = ON",  # of macOS, where a sync leaves data in the cache of the disk
            "cache_size = -65536",
            f"busy_timeout = {_TIMEOUT_SECONDS * 1000}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


def _postgresql(url: URL) -> Engine:
    context = connection_encryption(url.query)
    with imports_of("postgres", "the connection to PostgreSQL"):
        return create_engine(
            url.set(query={}), pool_size=16, max_overflow=48, pool_timeout=_TIMEOUT_SECONDS, pool_pre_ping=True,
            hide_parameters=True, connect_args={} if context is None else {"ssl_context": context},
        )  # fmt: skip
