"""Stops sending requests to a service that only fails."""

from __future__ import annotations

from collections.abc import Callable

from benchbuilder.core import ServiceError


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
