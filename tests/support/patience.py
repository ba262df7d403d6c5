"""How long a test waits for what another process does: longer on a slow machine.

A test waits by looking again and again, until what it waits for is there. The limit only ends a test that would wait
for ever, so it is long. It grows with the time that a fixed piece of work takes at the beginning of the run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

FACTOR = "BENCHBUILDER_TESTS_PATIENCE"
"""The environment variable that holds the factor for all processes of a run."""
SHORTEST_S = 120.0
_WORK = 300_000
_QUIET_S = 0.02
"""Seconds that the work takes on a quiet machine of 2026."""
_SLOWEST = 10.0


def work_s(clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds that the fixed piece of work takes now, by a clock of time or of processor time."""
    begun = clock()
    sum(number * number for number in range(_WORK))
    return clock() - begun


def slowness(clock: Callable[[], float] = time.perf_counter) -> float:
    """How many times slower this machine is now than a quiet one, from 1 to 10."""
    return min(max(1.0, min(work_s(clock) for _ in range(3)) / _QUIET_S), _SLOWEST)


def patience(seconds: float = SHORTEST_S) -> float:
    """Seconds to wait for something that takes at most `seconds` on a quiet machine: at least two minutes."""
    if FACTOR not in os.environ:
        os.environ[FACTOR] = f"{slowness():.1f}"
    return max(seconds, SHORTEST_S) * float(os.environ[FACTOR])


def wait_until(what: Callable[[], object], seconds: float = SHORTEST_S, every: float = 0.02) -> None:
    """Look every so often until `what` is true; fail after `patience(seconds)`."""
    end = time.monotonic() + patience(seconds)
    while not what():
        assert time.monotonic() < end, f"{what} did not come true within {patience(seconds):.0f} s"
        time.sleep(every)
