"""Files that are none: devices, pipes and sockets, which may block or never end when they are opened."""

from __future__ import annotations

import stat
from pathlib import Path

_NAMES = {
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
}  # fmt: skip


def special_file(path: Path) -> str:
    """What is at `path` if that is neither a file nor a folder (``a pipe``); empty otherwise. It is not opened."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # there is nothing, or no path can look like this
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _NAMES.get(stat.S_IFMT(mode), "a special file")
