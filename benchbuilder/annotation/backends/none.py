"""The annotation backend that asks nobody: the benchmark stays unreviewed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchbuilder.annotation.base import (
    AnnotationBackend,
    AnnotatorInstructions,
    MissingJudgements,
    Subject,
    Task,
    Votes,
)
from benchbuilder.config import AnnotationSpec, KindSpec
from benchbuilder.core import StepContext


class NoBackendSpec(KindSpec):
    """It has no settings."""


class NoBackend(AnnotationBackend):
    """Turns every candidate into an item that is marked as unreviewed."""

    kind: ClassVar[str] = "none"
    spec_class: ClassVar[type[KindSpec]] = NoBackendSpec

    @property
    def annotation_spec(self) -> AnnotationSpec | None:
        """Nobody is asked anything."""
        return None

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:  # noqa: ARG002
        """No votes."""
        return {}

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Votes:  # noqa: ARG002
        """No votes."""
        return Votes()

    def ask(
        self, tasks: Sequence[Task], votes: Votes, missing_judgements: MissingJudgements, context: StepContext  # noqa: ARG002
    ) -> AnnotatorInstructions:  # fmt: skip
        """Nobody to ask."""
        return AnnotatorInstructions(missing={}, where="", next="")
