"""Sources: readers that account for every unit of every file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import pyarrow as pa

from benchbuilder.config import DescriptiveField, FileRef, KindSpec
from benchbuilder.core import Dropped, EndOfFile, Kept, Row, SourceBatch, SourceUnit, Table


class SourceSpec(KindSpec):
    """What every source says of itself: its language, its licence and where it is published (for the card)."""

    language: str = ""
    licence: Annotated[str, DescriptiveField()] = ""
    title: Annotated[str, DescriptiveField()] = ""
    url: Annotated[str, DescriptiveField()] = ""
    citation: Annotated[str, DescriptiveField()] = ""


class Source(ABC):
    """Reads files into rows of class `output`.

    `read` yields one Unit for each unit of the driving files, in order, and an EndOfFile when it has reached the end
    of each file. A malformed unit is dropped with a reason of `reasons`; exact duplicates inside the source are
    dropped naming the kept unit. A file that is missing or of the wrong shape raises DataError.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[SourceSpec]]
    output: ClassVar[type[Row]]
    reasons: ClassVar[Mapping[str, str]] = {}

    def __init__(self, spec: Any, name: str, language: str) -> None:
        self.spec = spec
        self.name = name
        self.language = spec.language or language

    @classmethod
    def row_class(cls, spec: Any) -> type[Row]:  # noqa: ARG003
        """The class of the rows that a source with this `spec` makes; `output`, unless it is the recipe that says."""
        return cls.output

    def fingerprint(self) -> Mapping[str, str]:
        """What else shapes the rows: versions of libraries, content of files besides those that are read."""
        return {}

    @abstractmethod
    def files(self) -> list[FileRef]:
        """Every file that is read, in order."""

    @abstractmethod
    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all files, and the end of each."""

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        """The same as `read`, many units at a time: this is what a build asks for.

        A kind that reads millions of units makes them by the column, in memory that does not grow with the file.
        """
        units: list[SourceUnit] = []
        for unit in self.read():
            if units and (isinstance(unit, EndOfFile) or unit.file != units[0].file or len(units) == UNITS_PER_BATCH):
                yield pack_units(units, self.output)
                units = []
            if isinstance(unit, EndOfFile):
                yield unit
            else:
                units.append(unit)
        if units:
            yield pack_units(units, self.output)

    @abstractmethod
    def check(self) -> None:
        """Look at the head of each file: raise DataError if it has the wrong shape. Reads a few lines at most."""


UNITS_PER_BATCH = 10_000
"""How many units are packed into columns at a time."""


def pack_units(units: Sequence[SourceUnit], output: type[Row]) -> SourceBatch:
    """Consecutive units of one file as columns."""
    outcomes = [unit.outcome for unit in units]
    return SourceBatch(
        units[0].file,
        pa.array([unit.line for unit in units], pa.int64()),
        pa.array([None if isinstance(outcome, Kept) else outcome.reason for outcome in outcomes], pa.string()),
        pa.array(["" if isinstance(outcome, Kept) else outcome.detail for outcome in outcomes], pa.string()),
        Table.of([outcome.row for outcome in outcomes if isinstance(outcome, Kept)], output),
    )


def unpack_units(batch: SourceBatch) -> Iterator[SourceUnit]:
    """The units of a file that columns hold, one by one."""
    rows = iter(batch.rows)
    columns: list[list[Any]] = [column.to_pylist() for column in (batch.lines, batch.reasons, batch.details)]
    for line, reason, detail in zip(*columns, strict=True):
        yield SourceUnit(batch.file, line, Kept(next(rows)) if reason is None else Dropped(reason, detail))
