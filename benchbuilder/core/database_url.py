"""URLs of databases; messages never repeat a user, a password or an option."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from benchbuilder.core.errors import DataError

_MODES = ("disable", "require", "verify-ca", "verify-full")
_URL_HINT = "write sqlite:///FILE, or postgresql://USER:PASSWORD@HOST/NAME"
_LARGEST_PORT = 65_535


def parse_database_url(url: str) -> URL:
    """The parsed `url`; DataError unless it names a database for votes."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        parsed, backend = None, ""
    if parsed is None and url.startswith("postgresql"):
        raise _unreadable_error()
    if parsed is None or backend not in ("sqlite", "postgresql"):
        raise DataError(
            "this is not the URL of a database for votes",
            why="it begins with neither sqlite: nor postgresql:, or cannot be read",
            next=_URL_HINT,
        )
    if backend == "postgresql":
        return _server(parsed)
    if parsed.query:
        raise DataError("the URL of an SQLite database takes no options", next="write sqlite:///FILE")
    if not parsed.database or ":memory:" in parsed.database:
        raise DataError("votes must be in a file, not in memory", next="write sqlite:///FILE")
    return parsed


def _server(parsed: URL) -> URL:
    rest = f"{parsed.host or ''}{parsed.database or ''}"
    if "@" in rest or (parsed.port is not None and not 0 < parsed.port <= _LARGEST_PORT):
        raise _unreadable_error()
    if set(parsed.query) - {"sslmode", "sslrootcert"}:
        raise DataError(
            "the URL of the database has unknown options",
            why="known are sslmode and sslrootcert",
            next="remove the others; write user and password before the host",
        )
    if parsed.query.get("sslmode", "disable") not in _MODES:
        raise DataError("the URL of the database has an unknown sslmode", next=f"known: {', '.join(_MODES)}")
    return parsed.set(drivername="postgresql+pg8000")


def _unreadable_error() -> DataError:
    return DataError(
        "the URL of the database cannot be read",
        why="its user, password, host or port is not valid",
        next=f"{_URL_HINT}; in USER and PASSWORD percent-encode characters such as @ (%40), : (%3A), / (%2F)",
    )


def connection_encryption(query: Mapping[str, Any]) -> ssl.SSLContext | None:
    """The context for `sslmode` and `sslrootcert`; ``None`` for a connection without encryption."""
    mode, root = query.get("sslmode", "disable"), query.get("sslrootcert")
    if mode == "disable":
        return None
    try:
        context = ssl.create_default_context(cafile=root or None)
    except (OSError, ValueError, TypeError):
        raise DataError(
            "the certificates that sslrootcert names cannot be read", next="name a file of certificates in PEM"
        ) from None
    context.check_hostname = mode == "verify-full"
    if mode == "require" and not root:
        context.verify_mode = ssl.CERT_NONE
    return context


def display_database_url(url: URL) -> str:
    """Host and database, or the file."""
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{url.database}"
    port = f":{url.port}" if url.port else ""
    return f"{url.host or 'localhost'}{port}/{url.database or ''}"
