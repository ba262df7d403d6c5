"""Connections to SQLite and PostgreSQL, and how transactions begin and wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from benchbuilder.annotation.database.errors import make_database_error
from benchbuilder.core import DataError, connection_encryption, display_database_url, parse_database_url

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
    try:
        return create_engine(
            url.set(query={}), pool_size=16, max_overflow=48, pool_timeout=_TIMEOUT_SECONDS, pool_pre_ping=True,
            hide_parameters=True, connect_args={} if context is None else {"ssl_context": context},
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise DataError(
            "PostgreSQL cannot be reached without its driver",
            why=str(error),
            next="pip install 'benchbuilder[postgres]'",
        ) from error
