"""Sends requests in batches: the requests of all waiting conversations are submitted together."""

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
from benchbuilder.models.gateway.model_client import ActiveConversation, RowFailedError, Sender
from benchbuilder.models.gateway.reply_store import ReplyStore

_AT_A_TIME = 64
"""Conversations that are active at a time; all others wait."""
_Answer = Reply | RowFailedError | None
"""What a conversation receives; ``None``: its request is in no batch and must be sent live."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """A conversation that waits for a reply."""

    request: JournalRequest
    """With its worst-case cost at the batch price."""
    turn: ActiveConversation
    answer: asyncio.Future[_Answer]
    idle: bool = True

    def resolve(self, answer: _Answer | BaseException = None) -> None:
        """End the wait with an answer or an error."""
        if self.idle:
            self.idle = False
            self.turn.idle(-1)
        if self.answer.done():
            return
        if isinstance(answer, BaseException) and not isinstance(answer, RowFailedError):
            self.answer.set_exception(answer)
        else:
            self.answer.set_result(answer)


class BatchSender(Sender):
    """Collects requests until all conversations wait, submits them as batches, and waits for the results.

    A request in an unfinished batch is never sent again. With `live_sender`, no new batch is submitted: a request in no
    batch is sent live. The wait ends after `spec.wait_s` with WaitingForBatch. Neither that, Ctrl-C nor a kill loses
    anything.
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
        """Conversations that are active at a time."""
        return min(_AT_A_TIME, self._size) if self.live_sender is None else self.live_sender.rows

    @property
    def max_open(self) -> int:
        """Conversations that may be open, most of them waiting: as many as fit into a batch."""
        return self._size

    def begin_step(self) -> None:
        """Reset the waiting time: each step has its own."""
        self._waited_s = 0.0
        if self.live_sender is not None:
            self.live_sender.begin_step()

    def on_all_waiting(self) -> None:
        """No open conversation can continue, and no other can start."""
        if self._waiting and not self._asked_live:
            if self._work is None:
                self._work = asyncio.get_running_loop().create_task(self._work_loop())
                self._work.add_done_callback(self._stopped)
            self._all_wait.set()

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """Wait for a batch and its results; RowFailedError if the request has none."""
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
            raise answer or RowFailedError("the batch has no result for it")
        return await self._ask_live(self.live_sender, request, turn)

    async def end_step(self) -> None:
        """Stop waiting at the end of a step; the batches continue at the service."""
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
        """Pass an error of the work loop to one of the waiting conversations, which raises it and stops the step."""
        if not work.cancelled() and (error := work.exception()) is not None:
            for waiter in list(self._waiting.values())[:1]:
                waiter.resolve(error)

    async def _round(self) -> bool:
        """Submit free requests and poll open batches; return whether some conversation can continue."""
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
        """Submit free requests as far as the budget allows; BudgetReached if it allows none."""
        if self.live_sender is not None:
            return
        await self.model.open()  # before anything is recorded as submitted
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
            self._notice(f"the budget leaves room for {handed_in:,} of {len(free):,} requests until these are finished")

    def _split_batch(self, requests: Iterable[JournalRequest]) -> Iterator[list[JournalRequest]]:
        """Split requests into batches of the allowed size, up to the limit of the budget."""
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
        """Pass on the results of a batch and return how many were awaited; raise an error that affects all requests."""
        answered, error = 0, None
        async for results in self.batches.collect(batch):
            for result in results:
                error = error or result.error
                waiter = self._waiting.get(result.key)
                if waiter is not None and result.reply is not None:
                    waiter.resolve(result.reply)
                    answered += 1
        for remark in self.model.take_remarks():
            self._notice(remark)
        if error is not None:
            raise error
        return answered

    def _release_waiters(self) -> bool:
        """Release conversations whose requests failed for good, or, in live mode, are in no batch."""
        waiting = [waiter for waiter in self._waiting.values() if waiter.idle]
        batched = keys_in_batches(self.batches.journal, (waiter.request.key for waiter in waiting))
        free = [waiter for waiter in waiting if waiter.request.key not in batched]
        failed = self._failed([waiter.request.key for waiter in free])
        released = 0
        for waiter in free:
            key = waiter.request.key
            if key in failed or self.live_sender is not None:
                waiter.resolve(failed.get(key))
                released += 1
        return released > 0

    def _failed(self, keys: list[str]) -> dict[str, RowFailedError]:
        """Errors of the requests that this run does not retry; the next run may."""
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
        """Sleep until the next poll; WaitingForBatch once the waiting time is used up."""
        left_s = self.spec.wait_s - self._waited_s
        if left_s <= 0:
            raise self._waiting_error()
        begun = self._clock()
        await asyncio.sleep(min(self.spec.poll_s, left_s))
        self._waited_s += self._clock() - begun

    def _waiting_error(self) -> WaitingForBatch:
        count, keeper = len(self._waiting), self.batches.keeper
        shown = [
            f"{batch.id or 'one of another build'} ({batch.message or 'submitted'})" for batch in self.batches.open
        ]
        replies = "1 reply is" if count == 1 else f"{count:,} replies are"
        next = "run the same command again later, even days later: it continues from there"
        if self.live_sender is not None:
            next += ". To send live now, cancel the batch at the provider first, so that nothing is paid twice"
        return WaitingForBatch(
            f"{replies} missing from batches of {keeper.model.label}",
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
    """Make the batch sender if the recipe asks for batches or some are unfinished; else return ``None``.

    Raises:
        RecipeError: The model does not support batches.
    """
    spec: BatchSpec | None = getattr(model.spec, "batch", None)
    if spec is None and not open_batches(keeper.journal, model.label, keeper.endpoint):
        return None
    batches = model.batches()
    if batches is None:
        message = f"the model kind {model.kind!r} does not support batches"
        raise RecipeError([Problem(message, "model.batch", hint="model.batch=null sends requests live")])
    give_up_s: float = getattr(model.spec, "give_up_s", 300.0)
    client = BatchClient(batches, keeper, budget, owner, give_up_s, notice)
    retries: int = getattr(model.spec, "retries", 5)
    if spec is not None:
        return BatchSender(model, client, spec, retries, notice)
    return BatchSender(model, client, BatchSpec(wait_s=0), retries, notice, live=live)
