"""Limits attempts with invalid tokens."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MAX_FAILURES_PER_ADDRESS = 20
MAX_FAILURES = 400
WINDOW_SECONDS = 300.0
_ADDRESSES = 10_000


class LoginThrottle:
    """Counts failures over the last `window_s` seconds, by client address and in all.

    Only failures count, so colleagues who share an address do not lock each other out. Memory is bounded: beyond 10,000
    addresses, the one with the oldest failure is forgotten; the overall limit still applies.
    """

    def __init__(
        self,
        per_address: int = MAX_FAILURES_PER_ADDRESS,
        overall: int = MAX_FAILURES,
        window_s: float = WINDOW_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_address, self._overall, self._window_s, self._clock = per_address, overall, window_s, clock
        self._failures: OrderedDict[str, list[float]] = OrderedDict()
        self._all: list[float] = []
        self._lock = threading.Lock()

    def is_exhausted(self, address: str) -> bool:
        """Whether `address` must wait before it may try another token."""
        with self._lock:
            since = self._clock() - self._window_s
            self._all = [at for at in self._all if at > since]
            mine = [at for at in self._failures.get(address, ()) if at > since]
            return len(mine) >= self._per_address or len(self._all) >= self._overall

    def record_failure(self, address: str) -> None:
        """Count one failure."""
        with self._lock:
            now = self._clock()
            since = now - self._window_s
            mine = [at for at in self._failures.pop(address, ()) if at > since]
            self._failures[address] = [*mine, now][-self._per_address :]
            self._all = [*self._all, now][-self._overall :]
            while len(self._failures) > _ADDRESSES:
                self._failures.popitem(last=False)
