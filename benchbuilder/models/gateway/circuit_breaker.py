"""The breaker: a service that gives nothing but failures is not asked for ever."""

from __future__ import annotations

from collections.abc import Callable

from benchbuilder.core import ServiceError


class CircuitBreaker:
    """Trips when attempts fail for `give_up_s` seconds without a single good answer between them.

    `clock` gives seconds. The time before the first failure does not count: a service may take long to answer.
    """

    def __init__(self, label: str, endpoint: str, give_up_s: float, clock: Callable[[], float]) -> None:
        self._label, self._endpoint, self.give_up_s, self._clock = label, endpoint, give_up_s, clock
        self._since: float | None = None
        self._attempts = 0
        self._last = ""
        self._unreached: int | None = 0

    def record_success(self) -> None:
        """A good answer came."""
        self._unreached = None
        self.reset()

    def reset(self) -> None:
        """A new piece of work begins."""
        self._since, self._attempts = None, 0

    def record_failure(self, error: BaseException) -> None:
        """Count a failed attempt; ServiceError if that was one too many."""
        if self._since is None:
            self._since = self._clock()
        self._attempts += 1
        self._last = str(error) or type(error).__name__
        if self._unreached is not None:
            self._unreached = self._unreached + 1 if getattr(error, "unreached", False) else None
        self.check()

    def give_up_unreached(self, error: BaseException) -> None:
        """ServiceError if nobody was there in all attempts so far, those of earlier work among them."""
        if self._unreached:
            raise ServiceError(
                str(error),
                where=self._endpoint,
                why=f"none of {self._unreached} attempts reached anybody there, so no row can be worked on",
                next="start the service or correct model.base_url, then give the same command again",
            ) from error

    def seconds_left(self) -> float:
        """Seconds until it trips; infinite while nothing fails."""
        return float("inf") if self._since is None else max(0.0, self._since + self.give_up_s - self._clock())

    def check(self, pause_s: float = 0.0) -> None:
        """ServiceError if it has tripped, or will before a pause that the service asks for is over."""
        if self._since is None or self._clock() + pause_s < self._since + self.give_up_s:
            return
        so_far_s = self._clock() - self._since
        what = f"the model {self._label} gave no good answer for {so_far_s:.1f} s"
        if so_far_s < self.give_up_s:
            what = f"the model {self._label} asks to wait for {pause_s:.0f} s, longer than it is to be tried for"
        raise ServiceError(
            what,
            where=self._endpoint,
            why=f"attempts that failed since the last answer: {self._attempts}; the last one with: {self._last}",
            next="every answer so far is kept: run the same command again when the service is well; "
            f"model.give_up_s (now {self.give_up_s:g}) says how long to try",
        )
