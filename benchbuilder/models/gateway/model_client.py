"""Answers the requests of one model; equal requests in flight are sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from benchbuilder.models.base import Reply, Request, request_keys
from benchbuilder.models.gateway.budget import ASSUMED_REPLY_TOKENS, Budget
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest
from benchbuilder.models.gateway.reply_store import ReplyStore
from benchbuilder.models.gateway.token_count import TokenCounter

_COUNTED, _COUNTED_AFTER = 256, 16


class RowFailedError(Exception):
    """A request gets no answer in this run: its row fails, the others continue."""


@dataclass(slots=True, eq=False)
class ActiveConversation:
    """A conversation in progress.

    Attributes:
        idle: Called with 1 when the conversation begins to wait, and with -1 when the wait ends.
        task: The task that runs it.
        sending: Whether a request in flight may be billed. Such a conversation is awaited, never cancelled.
    """

    idle: Callable[[int], None]
    task: asyncio.Task[None] | None = None
    sending: bool = False


class Sender(Protocol):
    """Gets requests answered: one by one over the network, by a model in this process, or in batches of a service."""

    @property
    def rows(self) -> int:
        """Conversations that should be active at the same time."""
        ...

    @property
    def max_open(self) -> int:
        """Conversations that may be open, including those that wait for a retry, an equal request or a batch."""
        ...

    def begin_step(self) -> None:
        """Called at the start of a step."""

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """Get and journal the reply to a request that is not in the journal.

        Raises:
            RowFailedError: There is no reply.
            ServiceError: The service cannot be used any more.
        """
        ...

    def on_all_waiting(self) -> None:
        """Called when all open conversations wait and no other can start."""

    async def end_step(self) -> None:
        """Called at the end of a step, also after an error."""

    async def close(self) -> None:
        """Release all resources."""


@dataclass
class ModelClient:
    """Answers requests from the journal, from an equal request in flight, or by sending them."""

    replies: ReplyStore
    counter: TokenCounter
    sender: Sender
    budget: Budget
    prices: str
    """Date of the price table, "" if none."""
    _request_count: int = 0
    _by_script: TokenCounter = field(default_factory=lambda: TokenCounter(None))
    _flights: dict[str, asyncio.Future[Reply | RowFailedError]] = field(
        default_factory=dict[str, "asyncio.Future[Reply | RowFailedError]"]
    )

    async def ask(self, step: str, request: Request, turn: ActiveConversation) -> Reply:
        """Return the reply to a request; RowFailedError if there is none."""
        key, loose = request_keys(self.replies.model, request)
        if (flight := self._flights.get(key)) is not None:
            turn.idle(1)
            try:
                answer = await asyncio.shield(flight)
            finally:
                turn.idle(-1)
            if isinstance(answer, RowFailedError):
                raise RowFailedError(str(answer)) from answer
            return answer
        if (reply := self.replies.find(key, request)) is not None:
            return reply
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self.sender.ask(self._journal_request(step, key, loose, request), turn)
        except RowFailedError as error:
            flight.set_result(error)
            raise
        else:
            flight.set_result(reply)
        finally:
            del self._flights[key]
            flight.cancel()  # has no effect if there is an answer
        return reply

    def _journal_request(self, step: str, key: str, loose: str, request: Request) -> JournalRequest:
        """The request with its keys, its worst-case cost and our token count."""
        model, price = self.replies.model, self.replies.price
        sampling = model.sent_settings(request.sampling)
        limit = sampling.get("max_new_tokens")
        completion = ASSUMED_REPLY_TOKENS if limit is None else int(limit)

        def cost(prompt: int) -> Cost:
            return Cost(prompt, completion, None if price is None else price.worst(prompt, completion))

        worst = cost(self.counter.bound(request))
        if self.counter.exact and not self.budget.fits(worst):
            worst = cost(self.counter.upper_bound(request))  # a tokenizer is slow: only if its count matters
        self._request_count += 1
        # our own count calibrates the estimate: count every request at first, then a sample
        counts = self._request_count <= _COUNTED or not self._request_count % _COUNTED_AFTER
        return JournalRequest(
            key=key,
            loose_key=None if limit is None else loose,
            step=step,
            model=model.label,
            endpoint=self.replies.endpoint,
            request=request,
            sampling=sampling,
            counted_tokens=self._by_script.prompt(request) if counts else 0,
            worst_cost=worst,
            prices=self.prices,
        )
