"""Files that are none: devices, pipes and sockets, which may block or never end, and links that lead nowhere."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

_NAMES = {
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
}  # fmt: skip

SPECIAL_FILE_HINT = "put a file there; of a pipe, save what it delivers"


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
