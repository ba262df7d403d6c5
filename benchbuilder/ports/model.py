"""Models: what writes a text that no rule can write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from benchbuilder.spec.base import KindSpec


class Model(ABC):
    """Writes a text for a prompt.

    A stage asks only where its rules have no answer; where the reply is ``None`` it drops the ticket with the reason
    ``needs_model``.
    """

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    @abstractmethod
    def reply(self, prompt: str) -> str | None:
        """The reply to a rendered prompt; ``None`` if this model answers nothing."""
