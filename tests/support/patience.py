"""How long tests wait: for what they wait for, with limits that grow on a machine that is slow or busy."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

VARIABLE = "BENCHBUILDER_TESTS_PATIENCE"
"""The environment variable that holds how many times slower than usual this machine is, for all workers of a run."""
LIMIT_S = 120.0
"""Seconds after which a test gives up, where it does not say otherwise."""
_ROUNDS, _USUAL_S = 1_500_000, 0.1
"""A piece of work, and the seconds that it takes where nothing else runs."""
_PAUSE_S = 0.01


def patience(seconds: float = LIMIT_S) -> float:
    """So many seconds on a usual machine, and more on a slower one; it is measured once a run."""
    if VARIABLE not in os.environ:
        begun = time.perf_counter()
        sum(number * number % 7 for number in range(_ROUNDS))
        os.environ[VARIABLE] = f"{max(1.0, (time.perf_counter() - begun) / _USUAL_S):.2f}"
    return seconds * float(os.environ[VARIABLE])


def until(condition: Callable[[], object], what: object = "it took too long", seconds: float = LIMIT_S) -> None:
    """Wait until `condition` holds; AssertionError with `what`, or what it returns, if it never does."""
    deadline = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(_PAUSE_S)


def first_line(process: subprocess.Popen[str]) -> str:
    """What a server says first, when it is ready; nothing if it ends before."""
    stream: Any = process.stdout
    ready, _, _ = select.select([stream], [], [], patience())
    return stream.readline() if ready else ""
