"""The first actions of every worker process."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sys
import threading
from multiprocessing.process import BaseProcess


def begin_worker_process() -> None:
    """Leave Ctrl-C to the coordinator, and end with it, so that a killed build leaves no worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


def end_with_parent() -> None:
    """End this process as soon as the process that started it ends, even if that is killed.

    On Linux the kernel sees to it, even while a library of C keeps the interpreter busy.
    """
    parent: BaseProcess | None = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        _have_kernel_kill_at_end_of(parent.sentinel)
    threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _have_kernel_kill_at_end_of(pipe: int) -> None:
    """Have this process killed when the other end of `pipe` is closed, which the parent's end does."""
    import fcntl

    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:
        os._exit(1)  # it was closed before


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
