"""Rows of a query on a database, read through a read-only connection."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from benchbuilder.core import DataError, imports_of
from benchbuilder.sources.formats.files import import_library, wrong_shape

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_FETCHED_ROWS = 2000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class SourceDatabase:
    """A database that a source reads: a SQLite file, or the URL in the environment variable `env`.

    The URL may contain a password, and is in no message. DataError if the database cannot be read.
    """

    def __init__(self, key: str, name: str, file: Path | None, env: str | None) -> None:
        import_library("sqlalchemy", "sql", key)
        self.key, self.name, self.file, self.env = key, name, file, env

    def rows(self, query: str, columns: Sequence[int | str]) -> Iterator[list[Any]]:
        """The values of `columns` (names or positions in the result) of each row, as plain data."""
        with self._connected() as connection:
            from sqlalchemy import text

            result = connection.execution_options(stream_results=True).execute(text(escape_parameters(query)))
            known = list(result.keys())
            places = [c if isinstance(c, int) else known.index(c) if c in known else -1 for c in columns]
            if missing := [str(c) for c, place in zip(columns, places, strict=True) if not 0 <= place < len(known)]:
                raise wrong_shape(
                    self.key, self.name, expected=f"the columns {', '.join(missing)} in the result of the query",
                    found=f"the columns {', '.join(known)}",
                    next="name the columns of the query in the recipe (SELECT ... AS NAME)",
                )  # fmt: skip
            for row in result.yield_per(_FETCHED_ROWS):
                yield [plain_value(row[place]) for place in places]

    @contextmanager
    def _connected(self) -> Generator[Connection]:
        """A read-only connection that never commits."""
        from sqlalchemy.exc import DBAPIError

        url: URL | None = None
        try:
            url, engine = self._engine()
            try:
                with engine.connect() as connection:
                    yield _read_only(connection)
            finally:
                engine.dispose()
        except (DBAPIError, OSError, sqlite3.Error) as error:
            raise DataError(
                f"{self.key}: the query cannot be run", where=self.name, why=_error_text(error, url),
                next="check the query, the database and what its user may read",
            ) from None  # fmt: skip

    def _engine(self) -> tuple[URL | None, Engine]:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
        from sqlalchemy.pool import NullPool

        if self.file is not None:
            return None, _sqlite_engine(self.file)
        url = self._url()
        backend = url.get_backend_name()
        if backend == "sqlite":
            return url, _sqlite_engine(Path(url.database or ""))
        try:
            if backend == "postgresql":
                return url, _postgresql_engine(url)
            return url, create_engine(url, poolclass=NullPool, hide_parameters=True)
        except (ModuleNotFoundError, NoSuchModuleError, ArgumentError) as error:
            raise DataError(
                f"{self.key}: the database cannot be reached without its driver",
                where=f"the environment variable {self.env}",
                why=f"there is none for {backend}",
                next="install the driver that SQLAlchemy names for your database",
            ) from error

    def _url(self) -> URL:
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        value = os.environ.get(str(self.env), "")
        if not value:
            raise DataError(
                f"the environment variable {self.env} is not set",
                where=self.key,
                why="database_env names it as the source of the URL",
                next=f"export {self.env}=postgresql://USER@HOST/DATABASE",
            )
        try:
            url = make_url(value)
            url.get_backend_name()
        except (ArgumentError, ValueError):
            raise DataError(
                f"{self.env} contains no URL of a database", where=self.key, why="it cannot be parsed",
                next="write DIALECT://USER:PASSWORD@HOST/NAME; in USER and PASSWORD percent-encode @ (%40) and : (%3A)",
            ) from None  # fmt: skip
        return url


def plain_value(value: Any) -> Any:
    """A value of a database as JSON data; bytes become ``{}``, which is no text."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | time):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return {} if isinstance(value, bytes | memoryview) else str(value)


def _sqlite_engine(path: Path) -> Engine:
    """SQLite in read-only mode. Bytes that are not UTF-8 become surrogates, which a reader can detect."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)


def _postgresql_engine(url: URL) -> Engine:
    """PostgreSQL as for votes: the same driver and the same encryption options."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    from benchbuilder.core import connection_encryption, parse_database_url

    known = parse_database_url(url.render_as_string(hide_password=False))
    context = connection_encryption(known.query)
    with imports_of("postgres", "the connection to PostgreSQL"):
        return create_engine(
            known.set(query={}), poolclass=NullPool, hide_parameters=True,
            connect_args={} if context is None else {"ssl_context": context},
        )  # fmt: skip


def _read_only(connection: Connection) -> Connection:
    """The same connection, set to refuse all writing."""
    backend = connection.dialect.name
    if backend == "sqlite":
        raw: Any = connection.connection.dbapi_connection
        raw.set_authorizer(_authorise)
    elif backend == "postgresql":
        return connection.execution_options(postgresql_readonly=True)
    elif backend in ("mysql", "mariadb"):
        connection.exec_driver_sql("SET SESSION TRANSACTION READ ONLY")
        connection.rollback()
    return connection


def _authorise(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    loads = action == sqlite3.SQLITE_FUNCTION and name == "load_extension"
    return sqlite3.SQLITE_OK if action in _ALLOWED and not loads else sqlite3.SQLITE_DENY


def _error_text(error: Exception, url: URL | None) -> str:
    """The message of the driver, on one line, without a password."""
    cause: Any = getattr(error, "orig", None) or error
    message = cause.args[0] if getattr(cause, "args", None) else cause
    text = str(message.get("M", message) if isinstance(message, Mapping) else message)  # pyright: ignore[reportUnknownMemberType]
    line = " ".join(text.split())[:200]
    password = str(url.password or "") if url is not None else ""
    return line.replace(password, "***") if password else line


_SKIPPED = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]\[]*\]|\$(\w*)\$.*?\$\1\$""", re.DOTALL
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|[();]")
_WRITING = frozenset(
    {"alter", "attach", "create", "delete", "drop", "grant", "insert", "into", "merge", "pragma", "truncate", "update"}
)
_BIND = re.compile(r"(?<![:\w\\]):(?=\w)")


def check_select(query: str) -> str:
    """`query` without a final semicolon; ValueError if it has several statements, writes, or has no order.

    Quoted texts and comments are ignored. The database refuses writing as well: this check only reports it early.
    """
    bare = _SKIPPED.sub(lambda match: " " if match[0][:2] in ("--", "/*") else " x ", query)
    if "/*!" in query:
        raise ValueError("a comment that begins with /*! is run by some databases")
    if any(mark in bare for mark in ("'", '"', "/*")):
        raise ValueError("a quotation mark or a comment is not closed")
    tokens = [token.lower() for token in _TOKEN.findall(bare)]
    while tokens and tokens[-1] == ";":
        tokens.pop()
    if tokens[:1] not in (["select"], ["with"]):
        raise ValueError("one SELECT (or WITH ... SELECT) is needed")
    if ";" in tokens:
        raise ValueError("one SELECT is needed, not several statements")
    if writing := sorted(_WRITING.intersection(tokens)):
        raise ValueError(f"a query only reads: without {', '.join(writing).upper()}")
    if ("order", "by") not in _outermost_pairs(tokens):
        raise ValueError("the outermost SELECT needs an ORDER BY: without one, rows have no stable numbers")
    return re.sub(r"(\s*;)+\s*$", "", query.rstrip())


def _outermost_pairs(tokens: list[str]) -> set[tuple[str, str]]:
    """Adjacent tokens outside all brackets."""
    depth, last, pairs = 0, "", set[tuple[str, str]]()
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0:
            pairs.add((last, token))
            last = token
    return pairs


def escape_parameters(query: str) -> str:
    """`query` for SQLAlchemy's ``text``, with colons that name no parameters.

    >>> escape_parameters("SELECT a::int, ' :c' FROM t")
    "SELECT a::int, ' \\\\:c' FROM t"
    """
    return _BIND.sub(r"\\:", query)
