"""Asking a model behind an address: attempts, one after the other, until one is answered."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from functools import partial
from itertools import count

from benchbuilder.core.errors import ServiceError
from benchbuilder.models.base import HostedModel, RefusedRequestError, Reply, TransientError
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.circuit_breaker import Breaker
from benchbuilder.models.gateway.journal_tables import Asked, Cost, drop_attempt, lose_attempt, write_attempt
from benchbuilder.models.gateway.rate_limit import Pace, Slot, backoff_s
from benchbuilder.models.gateway.reply_store import Keeper, now_utc
from benchbuilder.models.gateway.requests import RowFailedError, Turn
from benchbuilder.models.gateway.send_queue import Lane
from benchbuilder.models.gateway.token_count import Counter

_WAITING = 8
"""Rows that may be open, for each that may be in flight."""


class HostedSender:
    """Sends requests one by one, as many at a time as the service takes.

    The place in the lane is held until the reply is on disk: what a kill repeats is at most what is in flight. A
    retry waits outside of it. Too many requests are the service's matter, not the request's: such attempts do not
    count as its retries until `give_up_s` has passed since the first. What is in flight when all stops is waited for,
    which takes `timeout_s` at most.
    """

    def __init__(
        self,
        model: HostedModel,
        keeper: Keeper,
        counter: Counter,
        budget: Budget,
        owner: str,
        notice: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: Callable[[], float] = random.random,
    ) -> None:
        spec = model.spec
        self.model, self.keeper, self.counter, self.budget = model, keeper, counter, budget
        self._owner, self._clock, self._rng = owner, clock, rng
        self._timeout_s: float = getattr(spec, "timeout_s", 120.0)
        self._retries: int = getattr(spec, "retries", 5)
        self._most: int = getattr(spec, "concurrency", 16)
        self._by_tokens = getattr(spec, "tokens_per_minute", None) is not None
        pace = Pace(self._most, getattr(spec, "requests_per_minute", None), getattr(spec, "tokens_per_minute", None))
        self._breaker = Breaker(model.label, keeper.endpoint, getattr(spec, "give_up_s", 300.0), clock)
        self._lane = Lane(model.label, pace, self._breaker, clock, notice)
        self._numbers = count()

    @property
    def rows(self) -> int:
        """As many as may be in flight."""
        return self._most

    @property
    def most(self) -> int:
        """Rows that wait keep no others from being begun, up to a limit."""
        return self._most * _WAITING

    def begin(self) -> None:
        """Failures of an earlier step are forgotten."""
        self._breaker.reset()

    async def ask(self, asked: Asked, turn: Turn) -> Reply:
        """Attempts until one is answered."""
        first, failures, counted = self._clock(), 0, 0
        while True:
            try:
                return await self._attempt(asked, turn)
            except TransientError as error:
                failures += 1
                patient = error.throttled and self._clock() - first < self._breaker.give_up_s
                counted += 0 if patient else 1
                self._breaker.failed(error)
                if counted > self._retries:
                    self._breaker.give_up_unreached(error)
                    attempts = "1 attempt" if failures == 1 else f"{failures} attempts"
                    raise RowFailedError(f"{error} (after {attempts})") from error
            except RefusedRequestError as error:
                raise RowFailedError(str(error)) from error
            turn.idle(1)
            try:
                # a pause that the service asks for is the lane's: it holds for all requests
                await asyncio.sleep(min(backoff_s(failures, self._rng()), self._breaker.left_s()))
            finally:
                turn.idle(-1)
            self._breaker.check()

    def all_wait(self) -> None:
        """They go on by themselves."""

    async def end(self) -> None:
        """Nothing is left over."""

    async def close(self) -> None:
        """Give back connections."""
        await self.model.close()

    async def _attempt(self, asked: Asked, turn: Turn) -> Reply:
        """One attempt: the budget's leave, a place in the lane, the answer on disk."""
        await self.model.open()  # before anything is written down as sent
        await self.budget.reserve(asked.worst, asked.step)
        actual: Cost | None = None
        try:
            slot = await self._lane.enter(self._tokens(asked))
            turn.sending = True
            try:
                reply, actual = await self._send(asked, slot)
            except TransientError as error:
                actual = asked.worst if error.billed else None
                raise
            finally:
                turn.sending = False
                self._lane.leave(slot, None if actual is None else actual.tokens)
        finally:
            self.budget.settle(asked.worst, actual)
        return reply

    async def _send(self, asked: Asked, slot: Slot) -> tuple[Reply, Cost]:
        journal = self.keeper.journal
        attempt = f"{self._owner.rpartition(':')[2]}-{next(self._numbers)}"
        journal.later(partial(write_attempt, ident=attempt, owner=self._owner, asked=asked, at=now_utc()))
        try:
            reply, cost = await self.keeper.keep(asked, await self._answer(asked), attempt)
        except TransientError as error:
            if error.billed:
                journal.later(partial(lose_attempt, ident=attempt, why=str(error)[:500]))
            else:
                journal.later(partial(drop_attempt, ident=attempt))
            self._lane.slow_down(slot, throttled=error.throttled, pause_s=error.retry_after_s)
            raise
        except RefusedRequestError:
            journal.later(partial(drop_attempt, ident=attempt))
            self._lane.good()
            raise
        except ServiceError:
            journal.later(partial(drop_attempt, ident=attempt))
            raise
        self._lane.good()
        return reply, cost

    async def _answer(self, asked: Asked) -> str:
        """The body of one attempt, in time."""
        try:
            # an adapter that keeps the time itself says more: it goes first
            async with asyncio.timeout(self._timeout_s + min(1.0, self._timeout_s / 10)):
                return await self.model.send(asked.request)
        except TimeoutError as error:
            raise TransientError(f"no whole answer within {self._timeout_s:g} s", billed=True) from error

    def _tokens(self, asked: Asked) -> int:
        """What counts towards the limit of tokens a minute until the reply is there."""
        return self.counter.prompt(asked.request) + asked.worst.completion if self._by_tokens else 0
