"""The first actions of every worker process."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import sys
import threading
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from typing import Any

_WORKER = "benchbuilder-worker"
_UNGUARDED = 78
"""The exit code of a worker that ran the script of its coordinator again instead of working."""


class _Worker(SpawnProcess):
    """A process that Ctrl-C does not reach, not even while it imports: it inherits what the thread blocks."""

    def start(self) -> None:
        if sys.platform == "win32":
            super().start()
            return
        resource_tracker.ensure_running()  # to start it unblocks the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerContext(SpawnContext):
    """Starts workers as new interpreters, on every system; `started` are all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # noqa: N802 # pyright: ignore[reportIncompatibleVariableOverride]
        """A process whose name tells the new interpreter what it is."""
        self.started.append(_Worker(*args, **{**options, "name": _WORKER}))
        return self.started[-1]

    def unguarded(self) -> bool:
        """Whether a worker ended because it ran the script of its coordinator again."""
        return any(process.exitcode == _UNGUARDED for process in self.started)


def end_worker_without_work() -> None:
    """End this process if it is a worker that has no work yet: it is running the script of its coordinator again.

    A new interpreter imports the script that started it. A script that builds outside of ``if __name__ ==
    "__main__":`` would build again in every worker.
    """
    process = multiprocessing.current_process()
    if process.name == _WORKER and getattr(process, "_inheriting", False):
        os._exit(_UNGUARDED)


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
