"""Submits, polls and collects batches; writes each action to the journal first."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from benchbuilder.core import ServiceError
from benchbuilder.models.base import BatchGoneError, BatchService, BatchState, Reply, TransientError
from benchbuilder.models.gateway.batch_tables import (
    OpenBatch,
    batch_requests,
    close_batch,
    forget_failure,
    garble_result,
    open_batches,
    record_batch_intent,
    record_batch_submission,
    unfinished_requests,
    write_results,
)
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest, settle_reply
from benchbuilder.models.gateway.process_owner import is_owner_alive
from benchbuilder.models.gateway.reply_store import ReplyStore, now_utc
from benchbuilder.models.gateway.service_gate import ServiceGate

CHUNK = 256
"""Results that are journaled and returned at a time."""
CERTAIN_AFTER_S = 5.0
"""Seconds between two looks for a batch interrupted by a kill: the service may still be accepting it."""
SERVICE_KEEPS_S = 30 * 24 * 3600.0
"""Services keep results for about a month; an older batch that cannot be found is abandoned."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one request in a finished batch; without a reply, the journal holds the reason."""

    key: str
    reply: Reply | None = None
    error: ServiceError | None = None
    """An error that affects all requests, not only this one."""


class BatchClient:
    """The batches of one model. `owner` names the gateway; `notice` receives progress messages.

    Over all runs, the worst-case cost of a batch is charged to the budget until the actual cost is known.
    """

    def __init__(
        self,
        service: BatchService,
        keeper: ReplyStore,
        budget: Budget,
        owner: str,
        give_up_s: float,
        notice: Callable[[str], None],
    ) -> None:
        self.batches, self.keeper, self.budget, self.journal = service, keeper, budget, keeper.journal
        self.open: list[OpenBatch] = []
        """Batches whose results are not collected yet."""
        self._owner, self._notice, self._label = owner, notice, keeper.model.label
        self._gate, self._give_up_s = ServiceGate(self._label, keeper.endpoint), give_up_s

    async def resume_open(self) -> None:
        """Load open batches; look for those whose submission was interrupted by a kill at the service."""
        self._gate.begin_step(self._give_up_s)
        self.open = open_batches(self.journal, self._label, self.keeper.endpoint)
        for batch in list(self.open):
            if batch.id is None and (batch.owner == self._owner or not is_owner_alive(batch.owner)):
                await self._find_again(batch)

    async def submit(self, requests: Sequence[JournalRequest]) -> None:
        """Submit a batch; if the service rejects it, ServiceError is raised and its requests are free again."""
        batch = OpenBatch(uuid.uuid4().hex, None, self._owner, time.time())
        await self.journal.commit(partial(record_batch_intent, batch=batch, requests=requests, time=now_utc()))
        self.open.append(batch)
        for one in requests:
            self.budget.charge(one.worst_cost.usd or 0.0, one.worst_cost.tokens)
        while batch.id is None:
            try:
                batch.id = await self.batches.submit(batch.mark, [(one.key, one.request) for one in requests])
            except TransientError as error:
                await self._pause(error)
                if error.billed:  # it may have arrived
                    batch.id = await self._with_retries(batch)
            except ServiceError:
                await self._close(batch, "not taken")
                raise
        self._gate.record_success()
        await self.journal.commit(partial(record_batch_submission, mark=batch.mark, ident=batch.id))
        self._notice(f"{self._label}: submitted batch {batch.id} with {_request_count(len(requests))}")

    async def poll(self, batch: OpenBatch) -> bool:
        """Whether a batch has ended and can be collected; ServiceError if it was rejected or cannot be found."""
        if batch.id is None:  # another build is submitting it
            known = {one.mark: one.id for one in open_batches(self.journal, self._label, self.keeper.endpoint)}
            batch.id = known.get(batch.mark)
            if batch.mark not in known:
                self.open.remove(batch)
            return False
        try:
            state = await self.batches.poll(batch.id)
        except TransientError as error:
            await self._pause(error)
            return False
        except BatchGoneError as error:
            await self._close_gone(batch, error)
            return False
        if state.phase != "ended":  # else the results decide whether the service works
            self._gate.record_success()
        if state.phase == "failed":
            await self._close(batch, "failed")
            raise self._close_rejected(batch, state)
        if (message := _state_text(state)) != batch.message:
            batch.message = message
            self._notice(f"{self._label}: batch {batch.id}: {message}")
        return state.phase == "ended"

    async def collect(self, batch: OpenBatch) -> AsyncIterator[list[BatchResult]]:
        """Fetch the results of an ended batch in chunks; each result is journaled before it is read."""
        assert batch.id is not None
        chunk: dict[str, str | Exception] = {}
        try:
            async for key, result in self.batches.results(batch.id):
                chunk[key] = result
                if len(chunk) == CHUNK:
                    yield await self._store_chunk(batch, chunk)
                    chunk = {}
            yield await self._store_chunk(batch, chunk)
        except TransientError as error:  # stored results stay; the rest is fetched next time
            await self._pause(error)
            return
        except BatchGoneError as error:
            await self._close_gone(batch, error)
            return
        self._gate.record_success()
        missing = unfinished_requests(self.journal, batch.mark)
        for start in range(0, len(missing), CHUNK):
            none = TransientError(f"batch {batch.id} ({batch.message}) has no result for it")
            yield await self._store_chunk(batch, dict.fromkeys(missing[start : start + CHUNK], none))
        await self._close(batch, "collected")

    # --- results

    async def _store_chunk(self, batch: OpenBatch, chunk: dict[str, str | Exception]) -> list[BatchResult]:
        asked = batch_requests(self.journal, batch.mark, chunk, self.keeper.model)
        results = [(asked[key], result) for key, result in chunk.items() if key in asked]
        late = await self.journal.commit(partial(write_results, mark=batch.mark, results=results, time=now_utc()))
        return [self._read(one, result, already_answered=one.key in late) for one, result in results]

    def _read(self, request: JournalRequest, result: str | Exception, *, already_answered: bool) -> BatchResult:
        key, journal = request.key, self.journal
        if not isinstance(result, str):
            if not (isinstance(result, TransientError) and result.billed):
                self._charge(request.worst_cost, None)
            return BatchResult(key, error=result if isinstance(result, ServiceError) else None)
        if already_answered:  # also sent live: ours was billed, the live reply counts
            return BatchResult(key, self.keeper.find(key, request.request))
        try:
            reply = self.keeper.model.read(result)
        except ValueError as error:
            journal.commit_later(partial(garble_result, key=key, why=str(error)))
            return BatchResult(key)
        settled = self.keeper.settled_reply(reply, request.request, batched=True)
        journal.commit_later(partial(settle_reply, key=key, settled=settled))
        journal.commit_later(partial(forget_failure, key=key))
        self._charge(request.worst_cost, settled.cost)
        return BatchResult(key, reply)

    def _charge(self, worst: Cost, actual: Cost | None) -> None:
        """Replace the worst case of a request by its actual cost."""
        usd, tokens = (0.0, 0) if actual is None else (actual.usd or 0.0, actual.tokens)
        self.budget.charge(usd - (worst.usd or 0.0), tokens - worst.tokens)

    # --- failures

    async def _find_again(self, batch: OpenBatch) -> None:
        """Look for a batch of which only the intent is recorded; if it was never submitted, its requests are free."""
        found = await self._with_retries(batch)
        if found is None:  # whenever it was submitted: the clock may have been set since
            await asyncio.sleep(CERTAIN_AFTER_S)
            found = await self._with_retries(batch)
        if found is None:
            await self._close(batch, "not handed in")
            return
        batch.id = found
        await self.journal.commit(partial(record_batch_submission, mark=batch.mark, ident=found))

    async def _with_retries(self, batch: OpenBatch) -> str | None:
        """The id of the batch with this mark, retried until the service answers."""
        while True:
            try:
                return await self.batches.find(batch.mark)
            except TransientError as error:
                await self._pause(error)

    async def _pause(self, error: TransientError) -> None:
        """Wait after a failed call; ServiceError if the service fails too long or asks for too long a pause."""
        self._gate.slow_down(None, error)
        self._gate.record_failure(error)
        self._gate.check(self._gate.asked_pause_s())
        await asyncio.sleep(min(self._gate.wait_s(), self._gate.seconds_left()))
        self._gate.check()

    async def _close_gone(self, batch: OpenBatch, error: BatchGoneError) -> None:
        if time.time() - batch.handed_in > SERVICE_KEEPS_S:
            self._notice(f"{self._label}: batch {batch.id} is abandoned: {error}")
            await self._close(batch, "gone", lost=f"batch {batch.id} is gone")
            return
        raise ServiceError(
            f"the service does not know batch {batch.id} or its results",
            where=self.keeper.endpoint,
            why=str(error),
            next="use the key and project of its submission; its requests are paid for and are not sent again "
            f"until {SERVICE_KEEPS_S / 86400:.0f} days after the submission",
        )

    def _close_rejected(self, batch: OpenBatch, state: BatchState) -> ServiceError:
        return ServiceError(
            f"the service rejected batch {batch.id}",
            where=self.keeper.endpoint,
            why=state.message,
            next="nothing was answered or charged. If it is too large for the account, send smaller batches "
            "with model.batch.max_requests; model.batch=null sends requests live",
        )

    async def _close(self, batch: OpenBatch, state: str, *, lost: str = "") -> None:
        self.open.remove(batch)
        usd, tokens = await self.journal.commit(partial(close_batch, mark=batch.mark, state=state, lost=lost))
        self.budget.charge(-usd, -tokens)


def _state_text(state: BatchState) -> str:
    return state.message if not state.total else f"{state.message}, {state.done:,} of {state.total:,} done"


def _request_count(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"
