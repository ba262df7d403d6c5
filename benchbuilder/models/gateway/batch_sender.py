"""Asking by the batch: what all open conversations wait for is handed in together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from benchbuilder.config import BatchSpec
from benchbuilder.core import Problem, RecipeError, WaitingForBatch
from benchbuilder.models.base import HostedModel, Reply
from benchbuilder.models.gateway.batch_jobs import BatchClient
from benchbuilder.models.gateway.batch_tables import (
    OpenBatch,
    forget_failure,
    keys_in_batches,
    open_batches,
    request_failures,
)
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.hosted_sender import HostedSender
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest
from benchbuilder.models.gateway.reply_store import ReplyStore
from benchbuilder.models.gateway.requests import ActiveConversation, RowFailedError

_AT_A_TIME = 64
"""Conversations that are worked on at a time; all others wait."""
_Answer = Reply | RowFailedError | None
"""What a conversation gets; ``None``: it is in no batch, and is to be asked live."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """A conversation that waits for a reply."""

    request: JournalRequest
    """Its worst case at the price of a batch."""
    turn: ActiveConversation
    answer: asyncio.Future[_Answer]
    idle: bool = True

    def resolve(self, answer: _Answer | BaseException = None) -> None:
        """It waits no more."""
        if self.idle:
            self.idle = False
            self.turn.idle(-1)
        if self.answer.done():
            return
        if isinstance(answer, BaseException) and not isinstance(answer, RowFailedError):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class BatchSender:
    """Collects what conversations ask until all of them wait, hands that in, and waits for the results.

    What is in a batch that is not through is never sent again. With `live_sender`, nothing new is handed in: what is in no
    batch is asked live. The waiting ends after `spec.wait_s` with WaitingForBatch; nothing is lost by that, by Ctrl-C
    or by a kill.
    """

    def __init__(
        self,
        model: HostedModel,
        batches: BatchClient,
        spec: BatchSpec,
        retries: int,
        notice: Callable[[str], None],
        *,
        live: HostedSender | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.batches, self.spec, self.live_sender = model, batches, spec, live
        self._retries, self._notice, self._clock = retries, notice, clock
        self._size = min(spec.max_requests, batches.batches.most_requests)
        self._waiting: dict[str, _Waiter] = {}
        self._asked_live = 0
        self._waited_s = 0.0
        self._all_wait = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    @property
    def rows(self) -> int:
        """Conversations that are worked on at a time."""
        return min(_AT_A_TIME, self._size) if self.live_sender is None else self.live_sender.rows

    @property
    def max_open(self) -> int:
        """Conversations that may be open, nearly all of them waiting: as many as a batch may hold."""
        return self._size

    def begin_step(self) -> None:
        """A step has its own time to wait."""
        self._waited_s = 0.0
        if self.live_sender is not None:
            self.live_sender.begin_step()

    def on_all_waiting(self) -> None:
        """No open conversation can go on, and no other can be begun."""
        if self._waiting and not self._asked_live:
            if self._work is None:
                self._work = asyncio.get_running_loop().create_task(self._work_loop())
                self._work.add_done_callback(self._stopped)
            self._all_wait.set()

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """Wait for a batch and its results."""
        if self.live_sender is not None and not keys_in_batches(self.batches.journal, [request.key]):
            return await self._ask_live(self.live_sender, request, turn)
        if (error := self._failed([request.key]).get(request.key)) is not None:
            raise error
        waiter = _Waiter(self._at_batch_price(request), turn, asyncio.get_running_loop().create_future())
        self._waiting[request.key] = waiter
        turn.idle(1)
        try:
            answer = await waiter.answer
        finally:
            waiter.resolve()
            self._waiting.pop(request.key, None)
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, RowFailedError) or self.live_sender is None:
            raise answer or RowFailedError("nothing came of it")
        return await self._ask_live(self.live_sender, request, turn)

    async def end_step(self) -> None:
        """A step is over, one way or another: nobody waits here any more; batches go on by themselves."""
        work, self._work = self._work, None
        self._all_wait.clear()
        if work is not None:
            work.cancel()
            await asyncio.wait([work])

    async def close(self) -> None:
        """Give back connections."""
        await self.end_step()
        await self.model.close()

    async def _ask_live(self, live: HostedSender, request: JournalRequest, turn: ActiveConversation) -> Reply:
        self._asked_live += 1
        try:
            return await live.ask(request, turn)
        finally:
            self._asked_live -= 1

    def _at_batch_price(self, request: JournalRequest) -> JournalRequest:
        price, worst = self.batches.keeper.price, request.worst_cost
        if price is None or worst.usd is None:
            return request
        return replace(request, worst_cost=replace(worst, usd=worst.usd * price.batch))

    # --- rounds

    async def _work_loop(self) -> None:
        await self.batches.resume_open()
        while True:
            await self._all_wait.wait()
            self._all_wait.clear()
            while self._waiting and not await self._round():
                pass

    def _stopped(self, work: asyncio.Task[None]) -> None:
        """What stops the work stops the step: one of those who wait raises it."""
        if not work.cancelled() and (error := work.exception()) is not None:
            for waiter in list(self._waiting.values())[:1]:
                waiter.resolve(error)

    async def _round(self) -> bool:
        """Hand in what is in no batch and look at those that are open; whether some conversation can go on."""
        if self._release_waiters():
            return True
        await self._hand_in()
        answered = through = 0
        for batch in list(self.batches.open):
            if await self.batches.poll(batch):
                answered += await self._collect(batch)
            through += batch not in self.batches.open
        if answered or self._release_waiters():
            return True
        if not through:
            await self._wait()
        return False

    async def _hand_in(self) -> None:
        """Hand in what is in no batch, as far as the budget allows; BudgetReached if that is not at all."""
        if self.live_sender is not None:
            return
        await self.model.open()  # before anything is written down as handed in
        batched = keys_in_batches(self.batches.journal, self._waiting)
        free = [waiter.request for key, waiter in self._waiting.items() if key not in batched]
        handed_in = 0
        for part in self._split_batch(free):
            await self.batches.submit(part)
            handed_in += len(part)
        if handed_in == len(free):
            return
        if not self.batches.open:
            first = free[handed_in]
            await self.batches.budget.reserve(first.worst_cost, first.step)  # raises: nothing else is in flight
        if handed_in:
            self._notice(f"the budget leaves room for {handed_in:,} of {len(free):,} requests until these are through")

    def _split_batch(self, requests: Iterable[JournalRequest]) -> Iterator[list[JournalRequest]]:
        """Batches that the service takes, up to the limit of the budget."""
        batches, budget = self.batches.batches, self.batches.budget
        part: list[JournalRequest] = []
        total, size = Cost(0, 0, 0.0), 0
        for one in requests:
            more = batches.size(one.request)
            if part and (len(part) == self._size or size + more > batches.most_bytes):
                yield part
                part, total, size = [], Cost(0, 0, 0.0), 0  # the budget is charged with the part by now
            worst = one.worst_cost
            together = Cost(
                total.prompt + worst.prompt, total.completion + worst.completion, (total.usd or 0) + (worst.usd or 0)
            )
            if not budget.fits(together):
                break
            part.append(one)
            total, size = together, size + more
        if part:
            yield part

    async def _collect(self, batch: OpenBatch) -> int:
        """Give out the results of a batch; how many had somebody waiting. What is wrong with all of them is raised."""
        answered, error = 0, None
        async for results in self.batches.collect(batch):
            for result in results:
                error = error or result.error
                waiter = self._waiting.get(result.key)
                if waiter is not None and result.reply is not None:
                    waiter.resolve(result.reply)
                    answered += 1
        if error is not None:
            raise error
        return answered

    def _release_waiters(self) -> bool:
        """Tell those that wait in vain: their requests failed for good, or nothing is handed in any more."""
        waiting = [waiter for waiter in self._waiting.values() if waiter.idle]
        batched = keys_in_batches(self.batches.journal, (waiter.request.key for waiter in waiting))
        free = [waiter for waiter in waiting if waiter.request.key not in batched]
        failed = self._failed([waiter.request.key for waiter in free])
        told = 0
        for waiter in free:
            key = waiter.request.key
            if key in failed or self.live_sender is not None:
                waiter.resolve(failed.get(key))
                told += 1
        return told > 0

    def _failed(self, keys: list[str]) -> dict[str, RowFailedError]:
        """Those of the requests that are not tried again in this run; the next run may."""
        errors: dict[str, RowFailedError] = {}
        for key, failure in request_failures(self.batches.journal, keys).items():
            if failure.final:
                errors[key] = RowFailedError(failure.why)
            elif failure.failures > self._retries:
                attempts = "1 attempt" if failure.failures == 1 else f"{failure.failures} attempts"
                errors[key] = RowFailedError(f"{failure.why} (after {attempts})")
            else:
                continue
            self.batches.journal.commit_later(partial(forget_failure, key=key))
        return errors

    # --- waiting

    async def _wait(self) -> None:
        """Until it is time to look again; WaitingForBatch if there was enough of that."""
        left_s = self.spec.wait_s - self._waited_s
        if left_s <= 0:
            raise self._raise_waiting()
        begun = self._clock()
        await asyncio.sleep(min(self.spec.poll_s, left_s))
        self._waited_s += self._clock() - begun

    def _raise_waiting(self) -> WaitingForBatch:
        count, keeper = len(self._waiting), self.batches.keeper
        shown = [
            f"{batch.id or 'one of another build'} ({batch.message or 'handed in'})" for batch in self.batches.open
        ]
        replies = "1 reply is" if count == 1 else f"{count:,} replies are"
        next = "give the same command again later, days later if need be: it goes on from there"
        if self.live_sender is not None:
            next += ". To ask live at once, cancel the batch with the provider first: what is in it is not paid twice"
        return WaitingForBatch(
            f"{replies} missing that {keeper.model.label} was asked for by the batch",
            missing={"replies": count},
            where=keeper.endpoint,
            why=f"batches: {', '.join(shown)}",
            next=next,
        )


def make_batch_sender(
    model: HostedModel,
    keeper: ReplyStore,
    budget: Budget,
    owner: str,
    notice: Callable[[str], None],
    live: HostedSender,
) -> BatchSender | None:
    """The sender where requests are handed in by the batch, or have been and are not through; else ``None``.

    RecipeError if the model takes no batches.
    """
    spec: BatchSpec | None = getattr(model.spec, "batch", None)
    if spec is None and not open_batches(keeper.journal, model.label, keeper.endpoint):
        return None
    batches = model.batches()
    if batches is None:
        message = f"the model kind {model.kind!r} takes no requests by the batch"
        raise RecipeError([Problem(message, "model.batch", hint="model.batch=null asks live")])
    give_up_s: float = getattr(model.spec, "give_up_s", 300.0)
    desk = BatchClient(batches, keeper, budget, owner, give_up_s, notice)
    retries: int = getattr(model.spec, "retries", 5)
    if spec is not None:
        return BatchSender(model, desk, spec, retries, notice)
    return BatchSender(model, desk, BatchSpec(wait_s=0), retries, notice, live=live)
