"""Runs many conversations at once, to their ends or to an orderly stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from benchbuilder.models.base import Reply, Request
from benchbuilder.models.conversation import Conversation, ConversationEnd, Conversations
from benchbuilder.models.gateway.model_client import ActiveConversation, RowFailedError, Sender

T = TypeVar("T")
_YIELD_AFTER_S = 0.005
"""Seconds of work on rows after which the event loop gets control again."""
_LOOKS = 3
"""Rounds of the event loop after which every woken task has run."""


class ConversationLoop(Generic[T]):
    """Runs the conversations of one step in a pool of tasks, one conversation per task at a time.

    `conversations` is consumed lazily, so memory does not grow with the number of rows.

    Args:
        sender: Limits the active and the open conversations, and hears when no open one can continue by itself.
        ask: Sends a request and returns the reply.
        conversations: Pairs of row and conversation.
        on_end: Receives the row and its outcomes, or the row and an error message.
        on_stopping: Called with the number of requests in flight when the loop stops and waits for them.
    """

    def __init__(
        self,
        sender: Sender,
        ask: Callable[[Request, ActiveConversation], Awaitable[Reply]],
        conversations: Conversations[T],
        on_end: ConversationEnd[T],
        on_stopping: Callable[[int], None],
    ) -> None:
        self._rows, self._most, self._all_wait = max(1, sender.rows), max(1, sender.max_open), sender.on_all_waiting
        self._ask, self._done, self._on_stopping = ask, on_end, on_stopping
        self._starts: Iterator[tuple[T, Conversation]] = iter(conversations)
        self._turns: set[ActiveConversation] = set()
        self._waiting = 0
        self._used_up = False
        self._stopping = False
        self._fault: BaseException | None = None
        self._over = asyncio.Event()
        self._breath = time.perf_counter()

    async def run(self) -> None:
        """Run all conversations.

        An error, or a cancellation (Ctrl-C), is raised only after the requests in flight have been answered.
        """
        self._fill()
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self._stop()
            if in_flight := sum(turn.sending for turn in self._turns):
                self._on_stopping(in_flight)
            await self._over.wait()
            raise
        if self._fault is not None:
            raise self._fault

    def _fill(self) -> None:
        """Start conversations up to the limits; waiting ones do not count as active."""
        while (
            not (self._used_up or self._stopping)
            and len(self._turns) - self._waiting < self._rows
            and len(self._turns) < self._most
        ):
            turn = ActiveConversation(self._count_waiting)
            self._turns.add(turn)
            turn.task = asyncio.get_running_loop().create_task(self._work(turn))
            turn.task.add_done_callback(lambda task, turn=turn: self._ended(turn, task))

    def _count_waiting(self, change: int) -> None:
        self._waiting += change
        if change > 0:
            self._fill()
            self._check_all_waiting(_LOOKS)

    def _check_all_waiting(self, looks: int) -> None:
        """Call `on_all_waiting` if all open conversations keep waiting for some rounds of the event loop."""
        if self._turns and len(self._turns) == self._waiting and not self._stopping:
            if looks:
                asyncio.get_running_loop().call_soon(self._check_all_waiting, looks - 1)
            else:
                self._all_wait()

    def _ended(self, turn: ActiveConversation, task: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fault = self._fault or fault
            self._stop()
        self._fill()
        self._check_all_waiting(_LOOKS)
        if not self._turns:
            self._over.set()

    def _stop(self) -> None:
        """Start nothing more; cancel every conversation except those with a request that may be billed."""
        self._stopping = True
        for turn in self._turns:
            if not turn.sending and turn.task is not None:
                turn.task.cancel()

    async def _work(self, turn: ActiveConversation) -> None:
        while not self._stopping and len(self._turns) - self._waiting <= self._rows:
            await self._yield_to_loop()
            start = next(self._starts, None)
            if start is None:
                self._used_up = True
                return
            item, conversation = start
            try:
                await self._run_conversation(item, conversation, turn)
            finally:
                conversation.close()
        self._turns.discard(turn)  # at once: otherwise the next task would leave for the same reason

    async def _run_conversation(self, item: T, conversation: Conversation, turn: ActiveConversation) -> None:
        """Run one conversation to its end."""
        try:
            request = next(conversation)
            while not self._stopping:
                await self._yield_to_loop()
                request = conversation.send(await self._ask(request, turn))
        except StopIteration as end:
            self._done(item, end.value)
        except RowFailedError as error:
            self._done(item, str(error))

    async def _yield_to_loop(self) -> None:
        """Let other tasks run after a stretch of work without waiting: rules, and replies from the journal."""
        if time.perf_counter() - self._breath > _YIELD_AFTER_S:
            await asyncio.sleep(0)
            self._breath = time.perf_counter()
