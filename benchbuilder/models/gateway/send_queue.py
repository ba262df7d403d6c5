"""The lane to one service: who may send now, and who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from benchbuilder.models.gateway.circuit_breaker import CircuitBreaker
from benchbuilder.models.gateway.rate_limit import RateLimiter, SendSlot

_NOTICE_EVERY_S = 10.0


class SendQueue:
    """Lets requests through in the order they come, as fast as `limiter` allows, until the breaker trips."""

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
        self._told: dict[str, float] = {}

    async def enter(self, tokens: int) -> SendSlot:
        """Wait for a place; ServiceError if the breaker trips meanwhile."""
        async with self._turn:
            while (wait_s := self.limiter.wait_s(self._clock(), tokens)) > 0:
                left_s = self.breaker.seconds_left()
                # with nothing in flight, nothing good can happen before a pause is over
                self.breaker.check(0.0 if self.limiter.in_flight else self.limiter.pause_s(self._clock()))
                self._changed.clear()
                await self._wait(min(wait_s, left_s))
            return self.limiter.acquire(self._clock(), tokens)

    def leave(self, slot: SendSlot, tokens: int | None = None) -> None:
        """Give a place back; `tokens` is what the request really had."""
        self.limiter.release(slot, tokens)
        self._changed.set()

    def record_success(self) -> None:
        """The service answered well."""
        self.limiter.record_success()
        self.breaker.record_success()

    def slow_down(self, slot: SendSlot, *, throttled: bool, pause_s: float | None) -> None:
        """The service asks for less: fewer at a time, or a pause."""
        now = self._clock()
        if throttled and self.limiter.record_throttling(now, slot):
            self._tell(
                now, "fewer", f"{self._label}: too many requests, now at most {int(self.limiter.allowed)} at a time"
            )
        if pause_s is not None and self.limiter.pause(now + pause_s) and pause_s >= 1:
            self._tell(now, "pause", f"{self._label}: paused for {pause_s:.0f} s, as the service asks")

    def _tell(self, now: float, about: str, text: str) -> None:
        if now - self._told.get(about, float("-inf")) >= _NOTICE_EVERY_S:
            self._told[about] = now
            self._notice(text)

    async def _wait(self, seconds: float) -> None:
        """Until a place is given back, or so many seconds have passed."""
        if seconds == float("inf"):
            await self._changed.wait()
            return
        handle = asyncio.get_running_loop().call_later(seconds, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            handle.cancel()
