"""Names the process that sent an attempt, and checks whether it still runs."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from pathlib import Path


def new_owner() -> str:
    """A unique name for a gateway: machine, process id, start time of the process, and a random number."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_process_start(pid)}:{uuid.uuid4().hex[:12]}"


def is_owner_alive(owner: str) -> bool:
    """Whether the process of `owner` runs on this machine; others cannot use a journal on a local disk."""
    host, _, rest = owner.rpartition(":")[0].partition(":")
    pid, _, began = rest.partition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    if pid == str(os.getpid()):
        return began == _process_start(os.getpid())
    if sys.platform == "win32":  # there this signal ends the process; a build's lock keeps others out anyway
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return began == _process_start(int(pid))


def _process_start(pid: int) -> str:
    """Start time of a process in clock ticks; "" if unknown, and then only the process id is compared."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
