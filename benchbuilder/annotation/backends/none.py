"""Nobody is asked: the benchmark stays unreviewed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchbuilder.annotation.base import Ballot, Instructions, Subject, Task, Votes, Wanted
from benchbuilder.config.spec.annotation import JudgingSpec
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.context import Context


class NoVotesSpec(KindSpec):
    """Nothing to say."""


class NoVotes(Votes):
    """Every candidate becomes an item that is marked as unreviewed."""

    kind: ClassVar[str] = "none"
    spec_class: ClassVar[type[KindSpec]] = NoVotesSpec

    @property
    def judging(self) -> JudgingSpec | None:
        """Nobody is asked anything."""
        return None

    def observes(self, workplace: Path) -> Mapping[str, str]:  # noqa: ARG002
        """No votes."""
        return {}

    def collect(self, subjects: Collection[Subject], workplace: Path) -> Ballot:  # noqa: ARG002
        """No votes."""
        return Ballot()

    def ask(
        self, tasks: Sequence[Task], ballot: Ballot, wanted: Wanted, context: Context  # noqa: ARG002
    ) -> Instructions:  # fmt: skip
        """Nobody to ask."""
        return Instructions(missing={}, where="", next="")
