"""Migrates a database to the schema of this version of benchbuilder."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from benchbuilder.annotation.database.connection import Transactions, explain_database_error
from benchbuilder.core import DataError, make_folder, sync_paths

_FOLDER = Path(__file__).parent / "migrations"
_TIMEOUT_SECONDS = 30.0
_PAUSE_SECONDS = 0.05
_migration_lock = threading.Lock()
"""Alembic keeps its state in a global variable."""


def migrate(transactions: Transactions) -> None:
    """Run missing migrations. If several processes start at once, one migrates and the others wait.

    Raises:
        DataError: the database cannot be opened, has a newer version, or is not a database of votes.
    """
    try:
        if transactions.sqlite:
            _enable_write_ahead(transactions)
        with transactions.reading(wrap_errors=False) as connection:
            head = ScriptDirectory.from_config(_config()).get_current_head()
            if MigrationContext.configure(connection).get_current_revision() == head:
                return
        with _migration_lock, transactions.writing(exclusive=True, wrap_errors=False) as connection:
            command.upgrade(_config(connection), "head")
    except CommandError as error:
        raise DataError(
            "the database of votes was written by a newer version of benchbuilder",
            where=transactions.location,
            why=str(error),
            next="pip install --upgrade benchbuilder",
        ) from error
    except (DBAPIError, sqlite3.Error, OSError) as error:
        why, next_ = explain_database_error(error)
        if not why and transactions.sqlite:
            why = str(error.orig if isinstance(error, DBAPIError) else error)
        raise DataError(
            "the database of votes cannot be opened",
            where=transactions.location,
            why=why or "the server cannot be reached, or does not answer",
            next=next_ or "check that it exists, that it is a database, and that you may write to it",
        ) from error


def _config(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _enable_write_ahead(transactions: Transactions) -> None:
    """Enable the write-ahead log, so readers never wait. SQLite does not retry this change by itself."""
    path = Path(transactions.url.database or "")
    make_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # Only the owner may read votes.
        sync_paths([path.parent])
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            raw = transactions.engine.raw_connection()
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL")
                return
            finally:
                raw.close()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
