"""Limits how often wrong invite links can be tried."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from benchbuilder.web import client_network

_log = logging.getLogger("benchbuilder.annotation.app")

MAX_FAILURES_PER_ADDRESS = 20
MAX_FAILURES = 400
WINDOW_SECONDS = 300.0
_ADDRESSES = 10_000


class LoginThrottle:
    """Counts wrong links over the last `window_s` seconds, by client and in all.

    Only wrong links count, and a valid link is never refused: nobody can lock out others. So the limit in all, which a
    client cannot evade with other addresses, does no harm. Guessing is hopeless anyway: a link has 256 random bits.
    Memory is bounded: beyond 10,000 clients, the one with the oldest wrong link is forgotten.
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
        """Whether `address` has used up its wrong links."""
        address = client_network(address)
        with self._lock:
            since = self._clock() - self._window_s
            self._all = [at for at in self._all if at > since]
            mine = [at for at in self._failures.get(address, ()) if at > since]
            return len(mine) >= self._per_address or len(self._all) >= self._overall

    def record_failure(self, address: str) -> None:
        """Count one wrong link; the server's log says when an address uses up its last one."""
        address = client_network(address)
        with self._lock:
            now = self._clock()
            since = now - self._window_s
            mine = [at for at in self._failures.pop(address, ()) if at > since]
            if len(mine) == self._per_address - 1:
                _log.warning("%d wrong links in %.0f s from %s", len(mine) + 1, self._window_s, ascii(address))
            self._failures[address] = [*mine, now][-self._per_address :]
            self._all = [*self._all, now][-self._overall :]
            while len(self._failures) > _ADDRESSES:
                self._failures.popitem(last=False)
