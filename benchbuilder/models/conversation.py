"""Conversations, the work on one row that may need a model, and the protocol of what drives them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Protocol, TypeVar

from benchbuilder.config import KindSpec
from benchbuilder.core import Outcome
from benchbuilder.models.base import Reply, Request

Conversation = Generator[Request, Reply, list[Outcome]]
"""The work on one row that may need a model: yields requests, receives replies, returns the outcomes of the row."""

T = TypeVar("T")
Conversations = Iterable[tuple[T, Conversation]]
"""Pairs of row and conversation, which are consumed lazily."""
ConversationEnd = Callable[[T, list[Outcome] | str], None]
"""Called when a conversation ends, in any order, with the row and its outcomes. If a request failed for good, it gets
the error message in place of the outcomes."""


class ConversationDriver(Protocol):
    """Runs conversations: a gateway sends their requests, a quote only counts them."""

    def converse(self, step: str, spec: KindSpec, conversations: Conversations[T], on_end: ConversationEnd[T]) -> None:
        """Run `conversations`, for which `step` pays, with the model `spec`, and call `on_end` at each end.

        Errors that stop a build are raised only after every request in flight has been answered and stored.
        """
        ...
