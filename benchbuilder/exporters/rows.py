"""What the exporters of rows share: which rows, and into which file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from benchbuilder.ports.exporter import Exporter, Finished
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec

FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""The name of a file in the output folder: ASCII, no folders."""


class RowsSpec(KindSpec):
    """`step` is the step whose rows are written (``null``: the recipe's `items`), `file` the name of the file."""

    step: str | None = None
    file: FileName


class RowsExporter(Exporter):
    """An exporter of one table."""

    spec: RowsSpec

    def ready(self, finished: Finished) -> bool:
        """Whether the step has rows to write yet."""
        return self.step(finished) in finished.tables

    def step(self, finished: Finished) -> str:
        """The step whose rows are written."""
        return self.spec.step or finished.items

    def table(self, finished: Finished) -> Table[Any]:
        """Its rows."""
        return finished.tables[self.step(finished)]
