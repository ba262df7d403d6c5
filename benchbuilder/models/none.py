"""The model kind `none`: rules only."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.ports.model import Model
from benchbuilder.spec.base import KindSpec


class NoModelSpec(KindSpec):
    """Nothing to set."""


class NoModel(Model):
    """Answers nothing: what no rule can do is dropped with the reason ``needs_model``."""

    kind: ClassVar[str] = "none"
    spec_class: ClassVar[type[KindSpec]] = NoModelSpec

    def reply(self, prompt: str) -> None:  # noqa: ARG002
        """No reply to any prompt."""
        return
