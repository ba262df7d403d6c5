"""Askers: who drives conversations with models, and decides what becomes of their requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from benchbuilder.config import KindSpec
from benchbuilder.core import Outcome
from benchbuilder.models.conversation import Conversation

T = TypeVar("T")


class ConversationDriver(Protocol):
    """Drives conversations to their ends: a gateway sends their requests, a quote counts them."""

    def converse(
        self,
        step: str,
        spec: KindSpec,
        conversations: Iterable[tuple[T, Conversation]],
        on_end: Callable[[T, list[Outcome] | str], None],
    ) -> None:
        """Drive each conversation of `conversations`, which is pulled lazily, with the model of `spec`.

        ``done(item, outcomes)`` is called as each ends, in whatever order, or ``done(item, error)`` for a row whose
        request failed for good. Raises what stops a build, after all that was in flight is answered and kept.
        """
        ...
