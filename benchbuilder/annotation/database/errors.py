"""Explains database errors in plain words."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from benchbuilder.core import DataError, display_database_url

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
