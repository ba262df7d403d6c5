"""The gate to one model of a service: closes when requests only fail, probes, and gives up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from benchbuilder.core import BudgetReached, ServiceError
from benchbuilder.models.base import TransientError
from benchbuilder.models.gateway.send_slot import SendSlot

LONGEST_BACKOFF_S = 8.0
"""The longest wait between two attempts, unless the service asks for a longer one."""
CLOSES_AFTER = 3
"""Failures in a row that close the gate if the service throttles or cannot be reached."""
CLOSES_AFTER_FAULTS = 64
"""Failures in a row that close it after other faults: a few rows may fail because of their own text."""
MOST_FAILURES, MOST_FAILURES_PER_ANSWER = 500, 10
"""Failed attempts of a whole build: as many as this, and so many more for each answer."""


def backoff_s(failures: int, jitter: float) -> float:
    """Seconds to wait after the n-th failure in a row: at most 1, 2, 4 and then 8, times `jitter` (0..1).

    >>> [backoff_s(n, 1.0) for n in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 8.0]
    """
    return min(LONGEST_BACKOFF_S, 2.0 ** min(failures - 1, 10)) * jitter


class ServiceGate:
    """Lets the requests to one model of a service pass, of all steps of a build.

    It closes after failures in a row. While it is closed, one request at a time passes as a probe. After each failed
    probe the wait is longer, up to `LONGEST_BACKOFF_S`, with full jitter. A good answer opens it. The build stops if
    all attempts fail for `give_up_s` seconds (see `begin_step`), or if failures far outnumber answers over the whole
    build. The time before the first failure does not count: a service may be slow to answer. `clock` returns seconds
    and never goes back.
    """

    def __init__(
        self,
        label: str,
        endpoint: str,
        clock: Callable[[], float] = time.monotonic,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self.label, self.endpoint, self.clock, self.rng = label, endpoint, clock, rng
        self.give_up_s = float("inf")
        self.closed = False
        self._probe: SendSlot | None = None
        self.failed_probes = 0
        self._in_row = 0
        self._opens_at = self._asked_until = float("-inf")
        self._since: float | None = None
        self._attempts = self._all_failed = self._all_answered = 0
        self._last = ""
        self._unreached: int | None = 0

    # --- passing

    def wait_s(self) -> float:
        """Seconds until a request may pass: 0 for now, infinite until the current probe ends."""
        if self.closed and self._probe is not None:
            return float("inf")
        return max(0.0, max(self._opens_at, self._asked_until) - self.clock())

    def asked_pause_s(self) -> float:
        """Remaining seconds of a pause that the service asked for."""
        return max(0.0, self._asked_until - self.clock())

    def pass_through(self, slot: SendSlot) -> None:
        """A request takes a slot; while the gate is closed, it is the probe."""
        if self.closed:
            self._probe = slot

    def leave(self, slot: SendSlot) -> None:
        """A request ended, in whatever way."""
        if slot is self._probe:
            self._probe = None

    def slow_down(self, slot: SendSlot | None, error: TransientError) -> bool:
        """Wait longer after a failed attempt; return whether the service asked for a longer pause than before."""
        now = self.clock()
        self._in_row += 1
        most = CLOSES_AFTER if error.throttled or error.unreached else CLOSES_AFTER_FAULTS
        if self.closed:
            if slot is self._probe:
                self.failed_probes += 1
                self._opens_at = now + backoff_s(self.failed_probes, self.rng())
        elif slot is None or self._in_row >= most:
            self.closed, self.failed_probes = True, 1
            self._opens_at = now + backoff_s(1, self.rng())
        if error.retry_after_s is None or now + error.retry_after_s <= self._asked_until:
            return False
        self._asked_until = now + error.retry_after_s
        return True

    def record_success(self) -> None:
        """Record a good answer: the gate is open."""
        self._unreached = None
        self._all_answered += 1
        self._in_row, self.failed_probes, self.closed, self._opens_at = 0, 0, False, float("-inf")
        self._since, self._attempts = None, 0

    # --- giving up

    def begin_step(self, give_up_s: float) -> None:
        """Measure the time with failures anew, under the limit of this step."""
        self.give_up_s = give_up_s
        self._since, self._attempts = None, 0

    def record_failure(self, error: BaseException) -> None:
        """Count a failed attempt; ServiceError if that is one too many."""
        if self._since is None:
            self._since = self.clock()
        self._attempts += 1
        self._all_failed += 1
        self._last = str(error) or type(error).__name__
        if self._unreached is not None:
            self._unreached = self._unreached + 1 if getattr(error, "unreached", False) else None
        self.check()
        if self._all_failed > MOST_FAILURES + MOST_FAILURES_PER_ANSWER * self._all_answered:
            raise ServiceError(
                f"the model {self.label} fails too often: {self._all_failed:,} failed attempts in this build",
                where=self.endpoint,
                why=f"good answers: {self._all_answered:,}; the last error: {self._last}",
                next="every answer so far is kept: run the same command again when the service recovers",
            )

    def explain_budget(self, error: BudgetReached) -> BudgetReached:
        """The error of a cap; it names the service if only failures, which may be billed, led to it."""
        if not self._in_row:
            return error
        return BudgetReached(
            error.what,
            where=error.where,
            why=f"{error.why}; failed attempts since the last answer, which may be billed: {self._in_row}; the last "
            f"error: {self._last}",
            next=f"look at the service {self.endpoint} first; then {error.next}",
        )

    def give_up_unreached(self, error: BaseException) -> None:
        """ServiceError if no attempt so far, including earlier work, reached the service."""
        if self._unreached:
            raise ServiceError(
                str(error),
                where=self.endpoint,
                why=f"none of {self._unreached} attempts reached the service, so no row can be processed",
                next="start the service or correct model.base_url, then run the same command again",
            ) from error

    def seconds_left(self) -> float:
        """Seconds until it gives up; infinite if nothing fails."""
        return float("inf") if self._since is None else max(0.0, self._since + self.give_up_s - self.clock())

    def check(self, pause_s: float = 0.0) -> None:
        """ServiceError if it has given up, or will during a pause of `pause_s` seconds that the service asked for."""
        if self._since is None or self.clock() + pause_s < self._since + self.give_up_s:
            return
        so_far_s = self.clock() - self._since
        what = f"the model {self.label} gave no good answer for {so_far_s:.1f} s"
        if pause_s >= self.give_up_s:
            what = f"the model {self.label} asks to wait for {pause_s:.0f} s, longer than model.give_up_s"
        raise ServiceError(
            what,
            where=self.endpoint,
            why=f"failed attempts since the last answer: {self._attempts}; the last error: {self._last}",
            next="every answer so far is kept: run the same command again when the service recovers; "
            f"model.give_up_s (now {self.give_up_s:g}) sets how long to try. If the fault is in the rows, "
            "model.retries=0 asks each once",
        )
