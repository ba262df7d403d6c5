"""Exporters: what is written when the build is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import Table
from benchbuilder.models import Receipt


@dataclass(frozen=True)
class StepCounts:
    """The books of one step or source, as its manifest holds them.

    `counts` maps (partition, outcome, reason) to a number of branches; outcome is ``kept``, ``dropped``, ``not_applicable``
    or ``failed``. `units` maps (file, outcome, reason) to source units, for sources only. `tallies` and `notes` are what
    the stage counted besides. `reasons` explains every reason of the step in a sentence.
    """

    step: str
    kind: str
    role: str
    rows: int
    inputs: Mapping[str, tuple[str, ...]]
    counts: Mapping[tuple[str, str, str], int]
    units: Mapping[tuple[str, str, str], int]
    tallies: Mapping[tuple[str, str, str], int]
    notes: Mapping[str, Any]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class FinishedBuild:
    """A finished build, for exporters: tables by step name, the books in flow order, and the resolved recipe.

    `recipe` is the resolved recipe as plain data. `ledger` iterates the drops as plain dicts. `state` is ``done`` or
    ``waiting`` (for votes: no items yet). `items` names the step whose rows are the benchmark.
    """

    tables: Mapping[str, Table[Any]]
    step_counts: tuple[StepCounts, ...]
    recipe: Mapping[str, Any]
    recipe_yaml: str
    ledger: Path
    items: str
    state: str
    waiting: str = ""
    receipts: tuple[Receipt, ...] = ()
    """What models were asked and what it cost, by step and model, over all runs of this build."""


class Exporter(ABC):
    """Writes files into the output folder. The same build gives the same bytes: no clocks, no machine names."""

    kind: ClassVar[str]
    spec_class: ClassVar[type[KindSpec]]

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether there is what it needs: while votes are missing there are candidates but no items."""
        return finished.items in finished.tables

    @abstractmethod
    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write into `folder`; the files that were written."""


FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""The name of a file in the output folder: ASCII, no folders."""


class RowsSpec(KindSpec):
    """`source_step` is the step whose rows are written (``null``: the recipe's `items`), `file` the name of the file."""

    step: str | None = None
    file: FileName


class RowsExporter(Exporter):
    """An exporter of one table."""

    spec: RowsSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether the step has rows to write yet."""
        return self.source_step(finished) in finished.tables

    def source_step(self, finished: FinishedBuild) -> str:
        """The step whose rows are written."""
        return self.spec.step or finished.items

    def table(self, finished: FinishedBuild) -> Table[Any]:
        """Its rows."""
        return finished.tables[self.source_step(finished)]
