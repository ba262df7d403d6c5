"""Driving conversations: as many open as are worth it, to their ends or to an orderly stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Generic, TypeVar

from benchbuilder.core import Outcome
from benchbuilder.models.base import Reply, Request
from benchbuilder.models.conversation import Conversation
from benchbuilder.models.gateway.requests import ActiveConversation, RowFailedError

T = TypeVar("T")
_YIELD_AFTER_S = 0.005
"""Seconds of work on rows after which the network is looked at again."""
_LOOKS = 3
"""Rounds of the loop after which what was woken has run, and all that wait do so."""


class ConversationLoop(Generic[T]):
    """The work on one step.

    A pool of tasks, each with one conversation at a time; `conversations` is pulled as they become free, so that what is
    held does not grow with the number of rows. About `rows` are worked on at a time; with those that wait for a next
    attempt, or for a batch, at most `max_open` are open. `on_all_waiting` is called when none can go on by itself,
    `on_stopping` with the number of requests in flight when it was told to stop and has to wait for them.
    """

    def __init__(
        self,
        rows: int,
        send: Callable[[Request, ActiveConversation], Awaitable[Reply]],
        conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
        *,
        max_open: int,
        on_all_waiting: Callable[[], None],
        on_stopping: Callable[[int], None],
    ) -> None:
        self._rows, self._ask, self._done = max(1, rows), send, on_end
        self._most, self._all_wait, self._told_to_stop = max(1, max_open), on_all_waiting, on_stopping
        self._starts: Iterator[tuple[T, Conversation]] = iter(conversations)
        self._turns: set[ActiveConversation] = set()
        self._waiting = 0
        self._used_up = False
        self._stopping = False
        self._fault: BaseException | None = None
        self._over = asyncio.Event()
        self._breath = time.perf_counter()

    async def run(self) -> None:
        """Drive all to their ends.

        Whatever is raised is raised after what was in flight has been answered. Cancelled (Ctrl-C), likewise.
        """
        self._fill()
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            self._stop()
            if in_flight := sum(turn.sending for turn in self._turns):
                self._told_to_stop(in_flight)
            await self._over.wait()
            raise
        if self._fault is not None:
            raise self._fault

    def _fill(self) -> None:
        """Begin as many turns as are worth having; those that wait do not count."""
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
        """Say so if all that are open wait, and go on doing so."""
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
        """Begin nothing more; what may be billed is waited for, the rest ends here."""
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
        self._turns.discard(turn)  # at once: the next one that looks must not leave on its account too

    async def _run_conversation(self, item: T, conversation: Conversation, turn: ActiveConversation) -> None:
        """One conversation to its end."""
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
        """Let others run after a while of work that waits for nothing: rules, and replies from the journal."""
        if time.perf_counter() - self._breath > _YIELD_AFTER_S:
            await asyncio.sleep(0)
            self._breath = time.perf_counter()
