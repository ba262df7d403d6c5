"""The model kind `none`: no model, only rules."""

from __future__ import annotations

from typing import ClassVar

from benchbuilder.config import KindSpec
from benchbuilder.models.base import Model, Reply


class NoModelSpec(KindSpec):
    """Nothing to set."""


class NoModel(Model):
    """Answers nothing: rows that no rule can handle are dropped with the reason ``needs_model``."""

    kind: ClassVar[str] = "none"
    spec_class: ClassVar[type[KindSpec]] = NoModelSpec
    can_answer: ClassVar[bool] = False

    def read(self, body: str) -> Reply:
        """Always raises ValueError: there are no replies."""
        raise ValueError(f"the model none wrote nothing, and not {body[:40]!r}")
