"""Types that the parts of the gateway share: conversations in progress, senders, and the failure of a row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from benchbuilder.models.base import Reply
from benchbuilder.models.gateway.journal_tables import JournalRequest


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
