"""The slot of a request among those in flight."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class SendSlot:
    """A slot among the requests in flight: its start time in seconds, and its tokens."""

    since: float
    tokens: int
