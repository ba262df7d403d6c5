"""Limits the requests to one service: number in flight, and limits per minute."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from benchbuilder.models.base import TransientError
from benchbuilder.models.gateway.send_slot import SendSlot
from benchbuilder.models.gateway.service_gate import ServiceGate

MINUTE_S = 60.0
BACKOFF_FACTOR = 0.5
"""Factor on the number in flight when the service throttles."""
_NOTICE_EVERY_S = 10.0


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
        self._step = max(1.0, max_in_flight / 32)
        self._cut_at = float("-inf")
        self._minute: deque[SendSlot] = deque()
        self._minute_tokens = 0

    def wait_s(self, now: float, tokens: int) -> float:
        """Seconds until a request of `tokens` may be sent: 0 for now, infinite until another request ends."""
        if self.in_flight >= max(1, int(self.allowed)):
            return float("inf")
        return self._minute_wait_s(now, tokens)

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


class SendQueue:
    """Passes requests in order of arrival, as fast as `limiter` and `gate` allow, until the gate gives up."""

    def __init__(self, limiter: RateLimiter, gate: ServiceGate, notice: Callable[[str], None]) -> None:
        self.limiter, self.gate = limiter, gate
        self._clock, self._notice = gate.clock, notice
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._last_notices: dict[str, float] = {}

    async def enter(self, tokens: int) -> SendSlot:
        """Wait for a slot; ServiceError if the gate gives up meanwhile."""
        async with self._turn:
            while (wait_s := max(self.limiter.wait_s(self._clock(), tokens), self.gate.wait_s())) > 0:
                left_s = self.gate.seconds_left()
                # with nothing in flight, no answer can come before the pause ends
                self.gate.check(0.0 if self.limiter.in_flight else self.gate.asked_pause_s())
                self._changed.clear()
                await self._wait(min(wait_s, left_s))
            slot = self.limiter.acquire(self._clock(), tokens)
            self.gate.pass_through(slot)
            return slot

    def leave(self, slot: SendSlot, tokens: int | None = None) -> None:
        """Release a slot; `tokens` is the actual number of the request."""
        self.limiter.release(slot, tokens)
        self.gate.leave(slot)
        self._changed.set()

    def record_success(self) -> None:
        """Record a good answer."""
        self.limiter.record_success()
        self.gate.record_success()

    def slow_down(self, slot: SendSlot, error: TransientError) -> None:
        """React to a failed attempt: send fewer requests, one at a time, or none for a while."""
        label, was_closed = self.gate.label, self.gate.closed
        if error.throttled and self.limiter.record_throttling(self._clock(), slot):
            self._notify("fewer", f"{label}: too many requests, now at most {int(self.limiter.allowed)} at a time")
        pause_s = error.retry_after_s
        if self.gate.slow_down(slot, error) and pause_s is not None and pause_s >= 1:
            self._notify("pause", f"{label}: paused for {pause_s:.0f} s at the request of the service")
        if self.gate.closed and not was_closed:
            self._notify("closed", f"{label}: only failures, now one request at a time, each after a longer wait")

    def _notify(self, about: str, text: str) -> None:
        now = self._clock()
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
