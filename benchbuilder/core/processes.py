"""The first actions of every worker process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


def begin_worker_process() -> None:
    """Leave Ctrl-C to the coordinator, and end with it, so that a killed build leaves no worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
