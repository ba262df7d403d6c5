"""Sends requests to a model in this process: in batches, in a separate thread."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import deque
from collections.abc import Sequence

from benchbuilder.models.base import LocalModel, RefusedRequestError, Reply, TransientError
from benchbuilder.models.gateway.budget import Budget
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest
from benchbuilder.models.gateway.model_client import ActiveConversation, RowFailedError, Sender
from benchbuilder.models.gateway.reply_store import ReplyStore

_Waiting = tuple[JournalRequest, ActiveConversation, "asyncio.Future[str]"]
_Work = tuple["asyncio.Future[list[str | BaseException]]", list[JournalRequest]]


class LocalSender(Sender):
    """Collects requests while a batch is being answered, then runs the next batch."""

    def __init__(self, model: LocalModel, replies: ReplyStore, budget: Budget) -> None:
        self.model, self.replies, self.budget = model, replies, budget
        self._waiting: deque[_Waiting] = deque()
        self._busy: asyncio.Task[None] | None = None
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def rows(self) -> int:
        """Two batches: the current one and the next."""
        return 2 * max(1, self.model.batch_size)

    @property
    def max_open(self) -> int:
        """Conversations wait for a batch or for an equal request only."""
        return 4 * self.rows

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """Wait for a batch and its answers; RowFailedError if the request has none."""
        await self.budget.reserve(request.worst_cost, request.step)
        actual: Cost | None = None
        try:
            waiter: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._waiting.append((request, turn, waiter))
            if self._busy is None:
                self._busy = asyncio.get_running_loop().create_task(self._batches())
            body = await waiter
            reply, actual = await self.replies.store(request, body)
        except (TransientError, RefusedRequestError) as error:
            raise RowFailedError(str(error)) from error
        finally:
            turn.sending = False
            self.budget.settle(request.worst_cost, actual)
        return reply

    async def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._work.put(None)
            self._thread = None

    async def _batches(self) -> None:
        """Run batches until no request waits."""
        try:
            while batch := await self._next():
                results = await self._run([asked for asked, _, _ in batch])
                for (_, turn, waiter), result in zip(batch, results, strict=True):
                    if waiter.done():
                        continue
                    if isinstance(result, BaseException):
                        turn.sending = False
                        waiter.set_exception(result)
                    else:
                        waiter.set_result(result)
        finally:
            self._busy = None

    async def _next(self) -> list[_Waiting]:
        """The next batch: full, or all waiting requests once no more arrive; cancelled ones are left out."""
        count = -1
        while count < len(self._waiting) < self.model.batch_size:
            count = len(self._waiting)
            await asyncio.sleep(0)
        batch: list[_Waiting] = []
        while self._waiting and len(batch) < max(1, self.model.batch_size):
            waiting = self._waiting.popleft()
            if not waiting[2].done():
                waiting[1].sending = True
                batch.append(waiting)
        return batch

    async def _run(self, batch: list[JournalRequest]) -> list[str | BaseException]:
        if self._thread is None:
            # a daemon thread: a second Ctrl-C does not wait for a batch
            self._thread = threading.Thread(target=self._serve, name="model", daemon=True)
            self._thread.start()
        done: asyncio.Future[list[str | BaseException]] = asyncio.get_running_loop().create_future()
        self._work.put((done, batch))
        return await done

    def _serve(self) -> None:
        """Answer batches; runs in the thread."""
        while (work := self._work.get()) is not None:
            done, batch = work
            results = self._generated(batch)
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
                done.get_loop().call_soon_threadsafe(_set_results, done, results)

    def _generated(self, batch: Sequence[JournalRequest]) -> list[str | BaseException]:
        """A body or an error per request; if a batch is refused, each request is tried alone."""
        try:
            bodies = self.model.generate([asked.request for asked in batch])
            if len(bodies) != len(batch):
                raise ValueError(f"{self.model.kind} gave {len(bodies)} bodies for {len(batch)} requests")
        except RefusedRequestError as error:
            return [error] if len(batch) == 1 else [self._generated([asked])[0] for asked in batch]
        except StopIteration as error:
            # a future cannot hold it
            return [RuntimeError(f"StopIteration in {self.model.kind}: {error}")] * len(batch)
        except BaseException as error:  # noqa: BLE001 - raised again by the waiting request
            return [error] * len(batch)
        return list(bodies)


def _set_results(futures: asyncio.Future[list[str | BaseException]], results: list[str | BaseException]) -> None:
    if not futures.done():
        futures.set_result(results)
