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


class ConversationDriver(Protocol):
    """Runs conversations: a gateway sends their requests, a quote only counts them."""

    def converse(
        self,
        step: str,
        spec: KindSpec,
        conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
    ) -> None:
        """Run conversations to their ends.

        Errors that stop a build are raised only after every request in flight has been answered and stored.

        Args:
            step: Name of the step that pays.
            spec: The model.
            conversations: Pairs of row and conversation, consumed lazily.
            on_end: Called when a conversation ends, in any order, with the row and its outcomes. If a request failed
                for good, it receives the error message in place of the outcomes.
        """
        ...
