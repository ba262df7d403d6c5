"""Asking by the batch: what all open conversations wait for is handed in together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from benchbuilder.config.spec.model import BatchSpec
from benchbuilder.core.errors import Problem, RecipeError, WaitingForBatch
from benchbuilder.models.base import HostedModel, Reply
from benchbuilder.models.gateway.batch_jobs import BatchDesk
from benchbuilder.models.gateway.batch_tables import (
    OpenBatch,
    failures_of,
    forget_failure,
    keys_in_batches,
    open_batches,
)
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.hosted_sender import HostedSender
from benchbuilder.models.gateway.journal_tables import Asked, Cost
from benchbuilder.models.gateway.reply_store import Keeper
from benchbuilder.models.gateway.requests import RowFailedError, Turn

_AT_A_TIME = 64
"""Conversations that are worked on at a time; all others wait."""
_Answer = Reply | RowFailedError | None
"""What a conversation gets; ``None``: it is in no batch, and is to be asked live."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """A conversation that waits for a reply."""

    asked: Asked
    """Its worst case at the price of a batch."""
    turn: Turn
    answer: asyncio.Future[_Answer]
    idle: bool = True

    def end(self, answer: _Answer | BaseException = None) -> None:
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

    What is in a batch that is not through is never sent again. With `live`, nothing new is handed in: what is in no
    batch is asked live. The waiting ends after `spec.wait_s` with WaitingForBatch; nothing is lost by that, by Ctrl-C
    or by a kill.
    """

    def __init__(
        self,
        model: HostedModel,
        desk: BatchDesk,
        spec: BatchSpec,
        retries: int,
        notice: Callable[[str], None],
        *,
        live: HostedSender | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.desk, self.spec, self.live = model, desk, spec, live
        self._retries, self._notice, self._clock = retries, notice, clock
        self._size = min(spec.max_requests, desk.batches.most_requests)
        self._waiting: dict[str, _Waiter] = {}
        self._asked_live = 0
        self._waited_s = 0.0
        self._all_wait = asyncio.Event()
        self._work: asyncio.Task[None] | None = None

    @property
    def rows(self) -> int:
        """Conversations that are worked on at a time."""
        return min(_AT_A_TIME, self._size) if self.live is None else self.live.rows

    @property
    def most(self) -> int:
        """Conversations that may be open, nearly all of them waiting: as many as a batch may hold."""
        return self._size

    def begin(self) -> None:
        """A step has its own time to wait."""
        self._waited_s = 0.0
        if self.live is not None:
            self.live.begin()

    def all_wait(self) -> None:
        """No open conversation can go on, and no other can be begun."""
        if self._waiting and not self._asked_live:
            if self._work is None:
                self._work = asyncio.get_running_loop().create_task(self._rounds())
                self._work.add_done_callback(self._stopped)
            self._all_wait.set()

    async def ask(self, asked: Asked, turn: Turn) -> Reply:
        """Wait for a batch and its results."""
        if self.live is not None and not keys_in_batches(self.desk.journal, [asked.key]):
            return await self._ask_live(self.live, asked, turn)
        if (error := self._failed([asked.key]).get(asked.key)) is not None:
            raise error
        waiter = _Waiter(self._at_batch_price(asked), turn, asyncio.get_running_loop().create_future())
        self._waiting[asked.key] = waiter
        turn.idle(1)
        try:
            answer = await waiter.answer
        finally:
            waiter.end()
            self._waiting.pop(asked.key, None)
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, RowFailedError) or self.live is None:
            raise answer or RowFailedError("nothing came of it")
        return await self._ask_live(self.live, asked, turn)

    async def end(self) -> None:
        """A step is over, one way or another: nobody waits here any more; batches go on by themselves."""
        work, self._work = self._work, None
        self._all_wait.clear()
        if work is not None:
            work.cancel()
            await asyncio.wait([work])

    async def close(self) -> None:
        """Give back connections."""
        await self.end()
        await self.model.close()

    async def _ask_live(self, live: HostedSender, asked: Asked, turn: Turn) -> Reply:
        self._asked_live += 1
        try:
            return await live.ask(asked, turn)
        finally:
            self._asked_live -= 1

    def _at_batch_price(self, asked: Asked) -> Asked:
        price, worst = self.desk.keeper.price, asked.worst
        if price is None or worst.usd is None:
            return asked
        return replace(asked, worst=replace(worst, usd=worst.usd * price.batch))

    # --- rounds

    async def _rounds(self) -> None:
        await self.desk.take_up()
        while True:
            await self._all_wait.wait()
            self._all_wait.clear()
            while self._waiting and not await self._round():
                pass

    def _stopped(self, work: asyncio.Task[None]) -> None:
        """What stops the work stops the step: one of those who wait raises it."""
        if not work.cancelled() and (error := work.exception()) is not None:
            for waiter in list(self._waiting.values())[:1]:
                waiter.end(error)

    async def _round(self) -> bool:
        """Hand in what is in no batch and look at those that are open; whether some conversation can go on."""
        if self._let_go():
            return True
        await self._hand_in()
        answered = through = 0
        for batch in list(self.desk.open):
            if await self.desk.look(batch):
                answered += await self._collect(batch)
            through += batch not in self.desk.open
        if answered or self._let_go():
            return True
        if not through:
            await self._wait()
        return False

    async def _hand_in(self) -> None:
        """Hand in what is in no batch, as far as the budget allows; BudgetReached if that is not at all."""
        if self.live is not None:
            return
        await self.model.open()  # before anything is written down as handed in
        batched = keys_in_batches(self.desk.journal, self._waiting)
        free = [waiter.asked for key, waiter in self._waiting.items() if key not in batched]
        handed_in = 0
        for part in self._parts(free):
            await self.desk.hand_in(part)
            handed_in += len(part)
        if handed_in == len(free):
            return
        if not self.desk.open:
            first = free[handed_in]
            await self.desk.budget.reserve(first.worst, first.step)  # raises: nothing else is in flight
        if handed_in:
            self._notice(f"the budget leaves room for {handed_in:,} of {len(free):,} requests until these are through")

    def _parts(self, asked: Iterable[Asked]) -> Iterator[list[Asked]]:
        """Batches that the service takes, up to the limit of the budget."""
        batches, budget = self.desk.batches, self.desk.budget
        part: list[Asked] = []
        total, size = Cost(0, 0, 0.0), 0
        for one in asked:
            more = batches.size(one.request)
            if part and (len(part) == self._size or size + more > batches.most_bytes):
                yield part
                part, total, size = [], Cost(0, 0, 0.0), 0  # the budget is charged with the part by now
            worst = one.worst
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
        async for results in self.desk.collect(batch):
            for result in results:
                error = error or result.error
                waiter = self._waiting.get(result.key)
                if waiter is not None and result.reply is not None:
                    waiter.end(result.reply)
                    answered += 1
        if error is not None:
            raise error
        return answered

    def _let_go(self) -> bool:
        """Tell those that wait in vain: their requests failed for good, or nothing is handed in any more."""
        waiting = [waiter for waiter in self._waiting.values() if waiter.idle]
        batched = keys_in_batches(self.desk.journal, (waiter.asked.key for waiter in waiting))
        free = [waiter for waiter in waiting if waiter.asked.key not in batched]
        failed = self._failed([waiter.asked.key for waiter in free])
        told = 0
        for waiter in free:
            key = waiter.asked.key
            if key in failed or self.live is not None:
                waiter.end(failed.get(key))
                told += 1
        return told > 0

    def _failed(self, keys: list[str]) -> dict[str, RowFailedError]:
        """Those of the requests that are not tried again in this run; the next run may."""
        errors: dict[str, RowFailedError] = {}
        for key, failure in failures_of(self.desk.journal, keys).items():
            if failure.final:
                errors[key] = RowFailedError(failure.why)
            elif failure.failures > self._retries:
                attempts = "1 attempt" if failure.failures == 1 else f"{failure.failures} attempts"
                errors[key] = RowFailedError(f"{failure.why} (after {attempts})")
            else:
                continue
            self.desk.journal.later(partial(forget_failure, key=key))
        return errors

    # --- waiting

    async def _wait(self) -> None:
        """Until it is time to look again; WaitingForBatch if there was enough of that."""
        left_s = self.spec.wait_s - self._waited_s
        if left_s <= 0:
            raise self._not_yet()
        begun = self._clock()
        await asyncio.sleep(min(self.spec.poll_s, left_s))
        self._waited_s += self._clock() - begun

    def _not_yet(self) -> WaitingForBatch:
        count, keeper = len(self._waiting), self.desk.keeper
        shown = [f"{batch.id or 'one of another build'} ({batch.told or 'handed in'})" for batch in self.desk.open]
        replies = "1 reply is" if count == 1 else f"{count:,} replies are"
        next = "give the same command again later, days later if need be: it goes on from there"
        if self.live is not None:
            next += ". To ask live at once, cancel the batch with the provider first: what is in it is not paid twice"
        return WaitingForBatch(
            f"{replies} missing that {keeper.model.label} was asked for by the batch",
            missing={"replies": count},
            where=keeper.endpoint,
            why=f"batches: {', '.join(shown)}",
            next=next,
        )


def by_batch(
    model: HostedModel,
    keeper: Keeper,
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
    desk = BatchDesk(batches, keeper, budget, owner, give_up_s, notice)
    retries: int = getattr(model.spec, "retries", 5)
    if spec is not None:
        return BatchSender(model, desk, spec, retries, notice)
    return BatchSender(model, desk, BatchSpec(wait_s=0), retries, notice, live=live)
