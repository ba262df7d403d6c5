"""What the parts of the gateway pass to each other about one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from benchbuilder.models.base import Reply
from benchbuilder.models.gateway.journal_tables import JournalRequest


class RowFailedError(Exception):
    """A request has no answer and will have none in this run: its row fails, the others go on."""


@dataclass(slots=True, eq=False)
class ActiveConversation:
    """One conversation being worked on.

    `sending` is set while a request of it may be billed: such a turn is never cancelled but waited for. `idle` is
    called with 1 when it begins to wait for a next attempt, with -1 when that is over.
    """

    idle: Callable[[int], None]
    task: asyncio.Task[None] | None = None
    sending: bool = False


class Sender(Protocol):
    """A way to have requests answered: one at a time over the network, in batches in this process, by the batch."""

    @property
    def rows(self) -> int:
        """Conversations that are worth having open at the same time."""
        ...

    @property
    def max_open(self) -> int:
        """Conversations that may be open with those that wait: for another try, an equal request, a batch."""
        ...

    def begin_step(self) -> None:
        """A step begins."""

    async def ask(self, request: JournalRequest, turn: ActiveConversation) -> Reply:
        """The reply to a request that the journal does not hold; journaled when this returns.

        RowFailedError if there is none; ServiceError and its kin if nobody can be asked any more.
        """
        ...

    def on_all_waiting(self) -> None:
        """All open conversations wait, and no other can be begun."""

    async def end_step(self) -> None:
        """A step is over, one way or another."""

    async def close(self) -> None:
        """Give back what it holds."""
