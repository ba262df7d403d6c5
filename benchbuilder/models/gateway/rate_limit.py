"""Limits the requests to one service: number in flight, limits per minute, pauses, and an end if it only fails."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from benchbuilder.core import ServiceError

MINUTE_S = 60.0
BACKOFF_FACTOR = 0.5
"""Factor on the number in flight when the service throttles."""
_NOTICE_EVERY_S = 10.0


@dataclass(slots=True, eq=False)
class SendSlot:
    """A slot among the requests in flight: its start time in seconds, and its tokens."""

    since: float
    tokens: int


class RateLimiter:
    """Decides when the next request may be sent. It has no clock: callers pass the time in seconds.

    The number in flight starts at `max_in_flight` and halves when the service throttles, once for all requests sent
    before the last cut. It grows again by a fraction of `max_in_flight` per round trip. In any minute, at most
    `requests` are sent and at most `tokens` are used; a request larger than the limit is sent alone.
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
        """Seconds until a request of `tokens` may be sent: 0 for now, infinite until another request ends."""
        if self.in_flight >= max(1, int(self.allowed)):
            return float("inf")
        return max(0.0, self.paused_until - now, self._minute_wait_s(now, tokens))

    def pause_s(self, now: float) -> float:
        """Remaining seconds of a pause."""
        return max(0.0, self.paused_until - now)

    def acquire(self, now: float, tokens: int) -> SendSlot:
        """Take a slot."""
        self.in_flight += 1
        slot = SendSlot(now, tokens)
        if self.requests is not None or self.tokens is not None:
            self._minute.append(slot)
            self._minute_tokens += tokens
        return slot

    def release(self, slot: SendSlot, tokens: int | None = None) -> None:
        """Release a slot; `tokens` is the actual number of the request."""
        self.in_flight -= 1
        if tokens is not None and self.tokens is not None:
            if self._minute and self._minute[0].since <= slot.since:  # else it is older than a minute
                self._minute_tokens += tokens - slot.tokens
            slot.tokens = tokens

    def record_success(self) -> None:
        """Record an answer: slightly more requests may be in flight."""
        if self.allowed < self.max_in_flight:
            self.allowed = min(float(self.max_in_flight), self.allowed + self._step / self.allowed)

    def record_throttling(self, now: float, slot: SendSlot) -> bool:
        """Record throttling by the service; return whether fewer requests may be in flight from now on."""
        if slot.since <= self._cut_at:
            return False
        self._cut_at = now
        before = int(self.allowed)
        self.allowed = max(1.0, min(self.allowed, float(self.in_flight)) * BACKOFF_FACTOR)
        return int(self.allowed) < before

    def pause(self, until: float) -> bool:
        """Send nothing before `until`; return whether that extends the current pause."""
        if until <= self.paused_until:
            return False
        self.paused_until = until
        return True

    def _minute_wait_s(self, now: float, tokens: int) -> float:
        """Seconds until the limits per minute allow the request."""
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


class CircuitBreaker:
    """Trips when all attempts fail for `give_up_s` seconds.

    `clock` returns seconds. The time before the first failure does not count: a service may be slow to answer.
    """

    def __init__(self, label: str, endpoint: str, give_up_s: float, clock: Callable[[], float]) -> None:
        self._label, self._endpoint, self.give_up_s, self._clock = label, endpoint, give_up_s, clock
        self._since: float | None = None
        self._attempts = 0
        self._last = ""
        self._unreached: int | None = 0

    def record_success(self) -> None:
        """Record a good answer."""
        self._unreached = None
        self.reset()

    def reset(self) -> None:
        """Start counting again."""
        self._since, self._attempts = None, 0

    def record_failure(self, error: BaseException) -> None:
        """Count a failed attempt; ServiceError if it trips."""
        if self._since is None:
            self._since = self._clock()
        self._attempts += 1
        self._last = str(error) or type(error).__name__
        if self._unreached is not None:
            self._unreached = self._unreached + 1 if getattr(error, "unreached", False) else None
        self.check()

    def give_up_unreached(self, error: BaseException) -> None:
        """ServiceError if no attempt so far, including earlier work, reached the service."""
        if self._unreached:
            raise ServiceError(
                str(error),
                where=self._endpoint,
                why=f"none of {self._unreached} attempts reached the service, so no row can be processed",
                next="start the service or correct model.base_url, then run the same command again",
            ) from error

    def seconds_left(self) -> float:
        """Seconds until it trips; infinite if nothing fails."""
        return float("inf") if self._since is None else max(0.0, self._since + self.give_up_s - self._clock())

    def check(self, pause_s: float = 0.0) -> None:
        """ServiceError if it has tripped, or will trip during a requested pause of `pause_s` seconds."""
        if self._since is None or self._clock() + pause_s < self._since + self.give_up_s:
            return
        so_far_s = self._clock() - self._since
        what = f"the model {self._label} gave no good answer for {so_far_s:.1f} s"
        if so_far_s < self.give_up_s:
            what = f"the model {self._label} asks to wait for {pause_s:.0f} s, longer than model.give_up_s"
        raise ServiceError(
            what,
            where=self._endpoint,
            why=f"failed attempts since the last answer: {self._attempts}; the last error: {self._last}",
            next="every answer so far is kept: run the same command again when the service recovers; "
            f"model.give_up_s (now {self.give_up_s:g}) sets how long to try",
        )


class SendQueue:
    """Passes requests in order of arrival, as fast as `limiter` allows, until the breaker trips."""

    def __init__(
        self,
        label: str,
        limiter: RateLimiter,
        breaker: CircuitBreaker,
        clock: Callable[[], float],
        notice: Callable[[str], None],
    ) -> None:
        self.limiter, self.breaker = limiter, breaker
        self._label, self._clock, self._notice = label, clock, notice
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._last_notices: dict[str, float] = {}

    async def enter(self, tokens: int) -> SendSlot:
        """Wait for a slot; ServiceError if the breaker trips meanwhile."""
        async with self._turn:
            while (wait_s := self.limiter.wait_s(self._clock(), tokens)) > 0:
                left_s = self.breaker.seconds_left()
                # with nothing in flight, no answer can come before the pause ends
                self.breaker.check(0.0 if self.limiter.in_flight else self.limiter.pause_s(self._clock()))
                self._changed.clear()
                await self._wait(min(wait_s, left_s))
            return self.limiter.acquire(self._clock(), tokens)

    def leave(self, slot: SendSlot, tokens: int | None = None) -> None:
        """Release a slot; `tokens` is the actual number of the request."""
        self.limiter.release(slot, tokens)
        self._changed.set()

    def record_success(self) -> None:
        """Record a good answer."""
        self.limiter.record_success()
        self.breaker.record_success()

    def slow_down(self, slot: SendSlot, *, throttled: bool, pause_s: float | None) -> None:
        """React to a service that asks for fewer requests or for a pause."""
        now = self._clock()
        if throttled and self.limiter.record_throttling(now, slot):
            self._notify(
                now, "fewer", f"{self._label}: too many requests, now at most {int(self.limiter.allowed)} at a time"
            )
        if pause_s is not None and self.limiter.pause(now + pause_s) and pause_s >= 1:
            self._notify(now, "pause", f"{self._label}: paused for {pause_s:.0f} s at the request of the service")

    def _notify(self, now: float, about: str, text: str) -> None:
        if now - self._last_notices.get(about, float("-inf")) >= _NOTICE_EVERY_S:
            self._last_notices[about] = now
            self._notice(text)

    async def _wait(self, seconds: float) -> None:
        """Wait until a slot is released, at most so many seconds."""
        if seconds == float("inf"):
            await self._changed.wait()
            return
        handle = asyncio.get_running_loop().call_later(seconds, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            handle.cancel()
