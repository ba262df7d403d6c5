"""Whether a build holds its folder, as the kernel lists it: the lock itself is never tried."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LOCKS = Path("/proc/locks")


def is_held(lock: Path) -> bool | None:
    """Whether a process of this machine holds the lock of a file; ``None`` if this system lists no locks.

    What holds it on another machine, or in a container beside this one, is not in the list.
    """
    with suppress(OSError):
        lines = _LOCKS.read_text("utf-8").splitlines()
        mark = lock.stat()
        file = f"{os.major(mark.st_dev):02x}:{os.minor(mark.st_dev):02x}:{mark.st_ino}"
        return any(file in line.split() for line in lines)
    return None
