"""What may go wrong with a database while people work, in words."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from benchbuilder.core import DataError, display_database_url

_TRY_AGAIN = "nothing of this step was kept; try again"
_TEXTS = {
    "locked": ("somebody else has been writing to it for too long", "end what else has it open, and try again"),
    "busy": ("somebody else has been writing to it for too long", "end what else has it open, and try again"),
    "full": ("the disk is full", "make room, and try again"),
    "readonly": ("it may not be written to", "give yourself the right to write to the file and its folder"),
    "unable to open": ("its file cannot be opened", "check that file and folder are there and yours"),
    "i/o": ("the disk does not read or write", "look after the disk, and try again"),
    "malformed": ("its file is damaged", "restore a backup of the file"),
    "refuses ssl": ("the server does not encrypt connections", "leave sslmode out, or set up the server for it"),
    "certificate": ("the certificate of the server is not trusted", "name its authority with sslrootcert"),
}
_CODES = {
    "08": ("the connection was lost", _TRY_AGAIN),
    "28": ("the server refuses the user or the password", "check both in the URL"),
    "3D": ("the server has no database of that name", "create it, or correct the name in the URL"),
    "40": ("others changed the same at the same time", _TRY_AGAIN),
    "42501": ("the server does not allow this user to do it", "grant the user the right to create and write tables"),
    "53100": ("the disk of the server is full", "make room, and try again"),
    "53": ("the server has no connections or memory left", "end other connections, and try again"),
    "55": ("somebody else has been writing to it for too long", _TRY_AGAIN),
    "57": ("the server was shut down, or ended the connection", _TRY_AGAIN),
    "58": ("the disk of the server does not read or write", "look after the server, and try again"),
}


def explain_database_error(error: BaseException) -> tuple[str, str]:
    """Why, in words, and what to do next; empty if that is not known."""
    orig: Any = error.orig if isinstance(error, DBAPIError) else error
    code = _code(orig)
    for start in (code, code[:2]):
        if start in _CODES:
            return _CODES[start]
    text = "" if code else str(orig).casefold()
    return next((told for sign, told in _TEXTS.items() if sign in text), ("", ""))


def _code(orig: Any) -> str:
    first = orig.args[0] if getattr(orig, "args", ()) else None
    return str(first.get("C", "")) if isinstance(first, dict) else ""


def make_database_error(error: BaseException, url: URL) -> DataError | None:
    """The error to tell people of, or ``None`` if `error` is nobody's fault but the program's."""
    why, next_ = explain_database_error(error)
    away = isinstance(error, (OperationalError, InterfaceError)) or bool(getattr(error, "connection_invalidated", 0))
    lost = away and url.get_backend_name() != "sqlite"
    if not why and not lost and isinstance(error, DBAPIError):
        return None
    return DataError(
        "the database of votes cannot be used at the moment",
        where=display_database_url(url),
        why=why or "it cannot be reached, or does not answer",
        next=next_ or f"see that it is there and running; {_TRY_AGAIN}",
    )
