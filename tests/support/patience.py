"""How long a test waits for what another process does: longer on a slow machine.

A test waits by looking again and again, until what it waits for is there. The limit only ends a test that would wait
for ever, so it is long. It grows with the time that a fixed piece of work takes at the beginning of the run.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Callable
from typing import Any

FACTOR = "BENCHBUILDER_TESTS_PATIENCE"
"""The environment variable that holds the factor for all processes of a run."""
SHORTEST_S = 120.0
_WORK = 300_000
_QUIET_S = 0.02
"""Seconds that the work takes on a quiet machine of 2026."""
_SLOWEST = 10.0
_PAUSE_S = 0.01


def work_s(clock: Callable[[], float] = time.perf_counter, parts: int = 1) -> float:
    """Seconds that the fixed piece of work takes now, by a clock of time or of processor time.

    One of so many `parts` of it is done: few, where the clock stands still while others work.
    """
    begun = clock()
    sum(number * number for number in range(_WORK // parts))
    return (clock() - begun) * parts


def slowness(clock: Callable[[], float] = time.perf_counter, parts: int = 1) -> float:
    """How many times slower this machine is now than a quiet one, from 1 to 10."""
    return min(max(1.0, min(work_s(clock, parts) for _ in range(3)) / _QUIET_S), _SLOWEST)


def patience(seconds: float = SHORTEST_S) -> float:
    """Seconds to wait for something that takes at most `seconds` on a quiet machine: at least two minutes."""
    if FACTOR not in os.environ:
        os.environ[FACTOR] = f"{slowness():.1f}"
    return max(seconds, SHORTEST_S) * float(os.environ[FACTOR])


def until(condition: Callable[[], object], what: object = "it took too long", seconds: float = SHORTEST_S) -> None:
    """Look again and again until `condition` holds; else an AssertionError with `what`, or with what it returns."""
    end = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(_PAUSE_S)


def first_line(process: subprocess.Popen[str]) -> str:
    """What a server says first, when it is ready; nothing if it ends before."""
    stream: Any = process.stdout
    ready, _, _ = select.select([stream], [], [], patience())
    return stream.readline() if ready else ""
