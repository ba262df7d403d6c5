"""Files that are none: devices, pipes and sockets, which may block or never end, and links that lead nowhere."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from benchbuilder.core.errors import DataError

_NAMES = {
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
}  # fmt: skip

SPECIAL_FILE_HINT = "put a file there; of a pipe, save what it delivers"
_MOST_BYTES = 4 * 2**30
"""Files that are read whole have at most so many bytes: their rows take several times as many in memory."""


def special_file(path: Path) -> str:
    """What is at `path` if that is neither a file nor a folder (``a pipe``); empty otherwise. It is not opened.

    Links that lead nowhere or in a circle count; where there is nothing at all, the answer is empty.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link that leads in a circle"
        return "a link that leads nowhere" if error.errno == errno.ENOENT and path.is_symlink() else ""
    except ValueError:  # no path can look like this
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _NAMES.get(stat.S_IFMT(mode), "a special file")


def open_given_file(path: Path, *, most_bytes: int = _MOST_BYTES) -> BinaryIO:
    """A file that somebody gave, opened to be read whole; OSError if it cannot be opened.

    Raises:
        DataError: It is a device, a pipe or a socket, be it behind a link, or larger than `most_bytes`.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            kind = _NAMES.get(stat.S_IFMT(status.st_mode), "a special file")
            raise DataError(f"{path.name} is {kind}, not a file", where=str(path), next=SPECIAL_FILE_HINT)
        if status.st_size > most_bytes:
            raise DataError(
                f"{path.name} is too large to be read at once", where=str(path),
                why=f"it has {status.st_size:,} bytes, and {most_bytes:,} are the most",
                next="give it in several files",
            )  # fmt: skip
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_given_file(path: Path) -> bytes:
    """The content of a file that somebody gave; the errors are those of `open_given_file`."""
    with open_given_file(path) as file:
        return file.read()
