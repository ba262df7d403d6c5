"""Opens files that somebody gave, and tells what is none: devices, pipes and sockets, which may block or never end."""

from __future__ import annotations

import errno
import io
import os
import stat
from io import BufferedReader
from pathlib import Path

from benchbuilder.core.errors import DataError

_NAMES = {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}

SPECIAL_FILE_HINT = "put a file there; of a pipe, save what it delivers"
MOST_BYTES = 4 * 2**30
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


def open_given_file(path: Path, *, most_bytes: int | None = MOST_BYTES) -> BufferedReader:
    """A file that somebody gave, opened to be read; OSError if it cannot be opened.

    `most_bytes` is the largest size; ``None`` is for readers that hold only a part of a file in memory.

    Raises:
        DataError: It is a device, a pipe or a socket, be it behind a link, or larger than `most_bytes`.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            kind = _NAMES.get(stat.S_IFMT(status.st_mode), "a special file")
            raise DataError(f"{path.name} is {kind}, not a file", where=str(path), next=SPECIAL_FILE_HINT)
        if most_bytes is not None and status.st_size > most_bytes:
            raise DataError(
                f"{path.name} is too large to be read at once",
                where=str(path),
                why=f"it has {status.st_size:,} bytes, and {most_bytes:,} are the most",
                next="give it in several files",
            )
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_given_file(path: Path) -> bytes:
    """The content of a file that somebody gave; the errors are those of `open_given_file`."""
    with open_given_file(path) as file:
        return file.read()


def read_given_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    r"""The text of a file that somebody gave, with ``\n`` at the end of each line.

    The errors are those of `open_given_file`, and UnicodeDecodeError.
    """
    with io.TextIOWrapper(open_given_file(path), encoding, errors) as file:
        return file.read()
