"""What builds and evaluations have in common: the report of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.core import Waiting
from benchbuilder.models import Receipt
from benchbuilder.pipeline import BuildReport


@dataclass(frozen=True)
class RunResult:
    """What a run made.

    Attributes:
        report: All that the run did, with the manifest of each step.
    """

    report: BuildReport

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return self.report.folder

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are in the folder now."""
        return tuple(self.report.written_files)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user may want to know of the steps, and what was left out."""
        return tuple(self.report.notes)

    @property
    def waiting(self) -> Mapping[str, Waiting]:
        """By step, what people or batches still owe; the same call goes on once it is there."""
        return self.report.waiting

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What models were asked and what it cost, over all runs."""
        return self.report.receipts
