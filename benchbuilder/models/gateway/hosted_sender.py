"""Sends requests to a hosted model and retries until one attempt is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count

from benchbuilder.core import BudgetReached, ServiceError
from benchbuilder.models.base import HostedModel, RefusedRequestError, Reply, TransientError
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest, drop_attempt, lose_attempt, write_attempt
from benchbuilder.models.gateway.model_client import ActiveConversation, RowFailedError, Sender
from benchbuilder.models.gateway.rate_limit import RateLimiter, SendQueue
from benchbuilder.models.gateway.reply_store import ReplyStore, now_utc
from benchbuilder.models.gateway.send_slot import SendSlot
from benchbuilder.models.gateway.service_gate import ServiceGate, backoff_s
from benchbuilder.models.gateway.token_count import TokenCounter

_WAITING = 8
"""Open rows per request that may be in flight."""


class HostedSender(Sender):
    """Sends requests one by one, as many at a time as the service accepts.

    A request keeps its slot until the reply is on disk, so a kill repeats at most what is in flight. A retry waits
    without a slot. Throttling is not the fault of a request: throttled attempts do not count as its retries until
    `give_up_s` has passed since the first attempt. A stop waits for the requests in flight, at most `timeout_s`.
    """

    def __init__(
        self,
        model: HostedModel,
        replies: ReplyStore,
        counter: TokenCounter,
        budget: Budget,
        owner: str,
        notice: Callable[[str], None],
        gate: ServiceGate,
    ) -> None:
        spec = model.spec
        self.model, self.replies, self.counter, self.budget = model, replies, counter, budget
        self._owner, self._gate, self._notice = owner, gate, notice
        self._first = asyncio.Lock()
        self._answered = self._told_of_limit = False
        self._timeout_s: float = getattr(spec, "timeout_s", 120.0)
        self._retries: int = getattr(spec, "retries", 5)
        self._most: int = getattr(spec, "concurrency", 16)
        self._by_tokens = getattr(spec, "tokens_per_minute", None) is not None
        limiter = RateLimiter(
            self._most, getattr(spec, "requests_per_minute", None), getattr(spec, "tokens_per_minute", None)
        )
        self._give_up_s: float = getattr(spec, "give_up_s", 300.0)
        self._queue = SendQueue(limiter, gate, notice)
        self._numbers = count()

    @property
    def rows(self) -> int:
        """As many as may be in flight."""
        return self._most

    @property
    def max_open(self) -> int:
        """Waiting rows do not block new ones, up to a limit."""
        return self._most * _WAITING

    def begin_step(self) -> None:
        """Forget the failures of earlier steps."""
        self._gate.begin_step(self._give_up_s)

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """Make attempts until one is answered; RowFailedError after too many failures."""
        first, failures, counted = self._gate.clock(), 0, 0
        while True:
            try:
                return await self._attempt(request, turn)
            except TransientError as error:
                failures += 1
                patient = error.throttled and self._gate.clock() - first < self._give_up_s
                counted += 0 if patient else 1
                self._gate.record_failure(error)
                if max(counted, self._gate.failed_probes) > self._retries:
                    self._gate.give_up_unreached(error)
                if counted > self._retries:
                    attempts = "1 attempt" if failures == 1 else f"{failures} attempts"
                    raise RowFailedError(f"{error} (after {attempts})") from error
            except RefusedRequestError as error:
                raise RowFailedError(str(error)) from error
            turn.idle(1)
            try:
                # a pause that the service requests, and a closed gate, apply to all requests, in the queue
                await asyncio.sleep(min(backoff_s(failures, self._gate.rng()), self._gate.seconds_left()))
            finally:
                turn.idle(-1)
            self._gate.check()

    async def close(self) -> None:
        """Close connections."""
        await self.model.close()

    async def _attempt(self, entry: JournalRequest, turn: ActiveConversation) -> Reply:
        """Make one attempt: reserve budget, wait for a slot, send, and store the answer."""
        await self.model.open()  # before anything is recorded as sent
        if self.budget.has_cap and not self._answered:
            async with self._first:  # the first reply shows how the service counts, before more are sent
                if not self._answered:
                    return await self._paid_attempt(entry, turn)
        return await self._paid_attempt(entry, turn)

    async def _paid_attempt(self, entry: JournalRequest, turn: ActiveConversation) -> Reply:
        entry = self.replies.with_learnt_cost(entry)
        try:
            await self.budget.reserve(entry.worst_cost, entry.step)
        except BudgetReached as error:
            raise self._gate.explain_budget(error) from error
        actual: Cost | None = None
        try:
            slot = await self._queue.enter(self._tokens(entry))
            turn.sending = True
            try:
                reply, actual = await self._send(entry, slot)
            except TransientError as error:
                actual = entry.worst_cost if error.billed else None
                raise
            finally:
                turn.sending = False
                self._queue.leave(slot, None if actual is None else actual.tokens)
        finally:
            self.budget.settle(entry.worst_cost, actual)
        return reply

    async def _send(self, entry: JournalRequest, slot: SendSlot) -> tuple[Reply, Cost]:
        journal = self.replies.journal
        attempt = f"{self._owner.rpartition(':')[2]}-{next(self._numbers)}"
        journal.commit_later(partial(write_attempt, ident=attempt, owner=self._owner, request=entry, time=now_utc()))
        try:
            reply, cost = await self.replies.store(entry, await self._send_in_time(entry), attempt)
        except TransientError as error:
            if error.billed:
                journal.commit_later(partial(lose_attempt, ident=attempt, why=str(error)[:500]))
            else:
                journal.commit_later(partial(drop_attempt, ident=attempt))
            self._queue.slow_down(slot, error)
            raise
        except RefusedRequestError:
            journal.commit_later(partial(drop_attempt, ident=attempt))
            self._queue.record_success()
            raise
        except ServiceError:
            journal.commit_later(partial(drop_attempt, ident=attempt))
            raise
        self._queue.record_success()
        self._answered = True
        self._tell_of_limit()
        return reply, cost

    def _tell_of_limit(self) -> None:
        """Pass the model's remarks on, and say once that the service ignores the limit of tokens."""
        for remark in self.model.take_remarks():
            self._notice(remark)
        written, limit = self.replies.longest_beyond_limit
        if written and not self._told_of_limit:
            self._told_of_limit = True
            self._notice(
                f"{self.model.label} ignores the limit of tokens: a reply has {written:,}, and sampling.max_new_tokens "
                f"is {limit:,}. {self.model.limit_remedy}"
            )

    async def _send_in_time(self, entry: JournalRequest) -> str:
        """The body of one attempt; TransientError on a timeout."""
        try:
            # a timeout inside the provider has a better message: let it come first
            async with asyncio.timeout(self._timeout_s + min(1.0, self._timeout_s / 10)):
                return await self.model.send(entry.request)
        except TimeoutError as error:
            raise TransientError(f"no complete answer within {self._timeout_s:g} s", billed=True) from error

    def _tokens(self, entry: JournalRequest) -> int:
        """Tokens that count towards the limit per minute until the reply arrives."""
        return self.counter.prompt(entry.request) + entry.worst_cost.completion if self._by_tokens else 0
