"""How fast a service is asked: an adaptive number of requests in flight, limits a minute, and pauses it asks for."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

MINUTE_S = 60.0
BACKOFF_FACTOR = 0.5
"""What remains of the number in flight when the service says that it is too much."""


@dataclass(slots=True, eq=False)
class SendSlot:
    """A place among the requests in flight: since when, and how many tokens it counts for."""

    since: float
    tokens: int


class RateLimiter:
    """When the next request may be sent. Holds no clock: every method is told the time in seconds.

    The number in flight starts at `max_in_flight`, halves when the service throttles (once for all that were sent before the
    last cut, since they tell of the same crowd) and grows again by a part of `max_in_flight` a round trip. Within any minute,
    at most `requests` are sent and at most `tokens` count; a request that is larger than the limit goes alone.
    """

    def __init__(self, max_in_flight: int, requests: int | None = None, tokens: int | None = None) -> None:
        self.max_in_flight, self.requests, self.tokens = max_in_flight, requests, tokens
        self.allowed = float(max_in_flight)
        self.in_flight = 0
        self.paused_until = 0.0
        self._step = max(1.0, max_in_flight / 32)
        self._cut_at = float("-inf")
        self._minute: deque[SendSlot] = deque()
        self._minute_tokens = 0

    def wait_s(self, now: float, tokens: int) -> float:
        """Seconds until a request of `tokens` may be sent: 0 is now, infinite is when another one has ended."""
        if self.in_flight >= max(1, int(self.allowed)):
            return float("inf")
        return max(0.0, self.paused_until - now, self._minute_wait_s(now, tokens))

    def pause_s(self, now: float) -> float:
        """Seconds that are left of a pause."""
        return max(0.0, self.paused_until - now)

    def acquire(self, now: float, tokens: int) -> SendSlot:
        """Take a place."""
        self.in_flight += 1
        slot = SendSlot(now, tokens)
        if self.requests is not None or self.tokens is not None:
            self._minute.append(slot)
            self._minute_tokens += tokens
        return slot

    def release(self, slot: SendSlot, tokens: int | None = None) -> None:
        """Give a place back; `tokens` is what the request really had."""
        self.in_flight -= 1
        if tokens is not None and self.tokens is not None:
            if self._minute and self._minute[0].since <= slot.since:  # else it has left the minute already
                self._minute_tokens += tokens - slot.tokens
            slot.tokens = tokens

    def record_success(self) -> None:
        """An answer came: a little more may be in flight."""
        if self.allowed < self.max_in_flight:
            self.allowed = min(float(self.max_in_flight), self.allowed + self._step / self.allowed)

    def record_throttling(self, now: float, slot: SendSlot) -> bool:
        """The service says that it is asked too often; True if fewer may be in flight from now on."""
        if slot.since <= self._cut_at:
            return False
        self._cut_at = now
        before = int(self.allowed)
        self.allowed = max(1.0, min(self.allowed, float(self.in_flight)) * BACKOFF_FACTOR)
        return int(self.allowed) < before

    def pause(self, until: float) -> bool:
        """Send nothing before `until`; True if that is later than known."""
        if until <= self.paused_until:
            return False
        self.paused_until = until
        return True

    def _minute_wait_s(self, now: float, tokens: int) -> float:
        """Seconds until the limits a minute have room."""
        while self._minute and self._minute[0].since + MINUTE_S <= now + 1e-9:
            self._minute_tokens -= self._minute.popleft().tokens
        wait_s = 0.0
        if self.requests is not None and len(self._minute) >= self.requests:
            wait_s = self._minute[len(self._minute) - self.requests].since + MINUTE_S - now
        if self.tokens is not None and self._minute:
            over = self._minute_tokens + tokens - self.tokens
            for slot in self._minute:
                if over <= 0:
                    break
                over -= slot.tokens
                wait_s = max(wait_s, slot.since + MINUTE_S - now)
        return wait_s


def backoff_s(failures: int, jitter: float) -> float:
    """Seconds to wait after the n-th failure in a row: 0.5, 1, 2, ... at most 30, times 0.5 to 1 by `jitter` (0..1).

    >>> [backoff_s(n, 1.0) for n in (1, 2, 3, 9)]
    [0.5, 1.0, 2.0, 30.0]
    """
    return min(30.0, 0.5 * 2.0 ** min(failures - 1, 10)) * (0.5 + jitter / 2)
