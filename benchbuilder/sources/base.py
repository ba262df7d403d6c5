"""The base class of sources, which read files into rows and account for every unit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import pyarrow as pa
from pydantic import Field

from benchbuilder.config import Day, DescriptiveField, FileRef, KindSpec, LanguageTag, Spec
from benchbuilder.core import Dropped, EndOfFile, Kept, Row, SourceBatch, SourceUnit, Table


class DayColumns(Spec):
    """The columns of a source that hold the days of each fact (ISO 8601); an empty cell says none."""

    checked_on: str | int | None = None
    recheck_by: str | int | None = None


class UpdatingSpec(Spec):
    """When the facts of a source were checked, and by when they must be checked again.

    `checked_on` and `recheck_by` hold for facts of which the `columns` say no day. `recheck_after` is the number of
    days after a check on which a fact is due, where nothing names the day itself.
    """

    checked_on: Day = ""
    recheck_by: Day = ""
    recheck_after: Annotated[int | None, Field(ge=1)] = None
    columns: DayColumns = DayColumns()


class SourceSpec(KindSpec):
    """Settings of every source: its language, and for the card its licence and publication."""

    language: LanguageTag | Literal[""] = ""
    licence: Annotated[str, DescriptiveField()] = ""
    title: Annotated[str, DescriptiveField()] = ""
    url: Annotated[str, DescriptiveField()] = ""
    citation: Annotated[str, DescriptiveField()] = ""
    updating: Annotated[UpdatingSpec | None, DescriptiveField()] = None
    """When its facts were checked, and when they are due again. It changes no row."""


class Source(ABC):
    """Reads files into rows of class `output`.

    `read` yields one SourceUnit per unit of the files, in order, and an EndOfFile at the end of each file. A malformed
    unit is dropped with one of `reasons`. An exact duplicate inside the source is dropped, with a reference to the kept
    unit. A missing file, or one of the wrong shape, raises DataError.
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
        """The class of the rows of a source with this `spec`: `output`, unless it depends on the recipe."""
        return cls.output

    @classmethod
    def named_sources(cls, spec: Any) -> Mapping[str, tuple[str, type[Row]]]:  # noqa: ARG003
        """The other sources that `spec` names, by the key, each with the class of rows that it must have."""
        return {}

    def fingerprint(self) -> Mapping[str, str]:
        """Further inputs that shape the rows: versions of libraries, contents of other files."""
        return {}

    @abstractmethod
    def files(self) -> list[FileRef]:
        """All files that are read, in order."""

    @abstractmethod
    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all files, and the end of each."""

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        """Like `read`, but in batches; a build uses this.

        A kind that reads millions of units overrides it to build columns directly, in bounded memory.
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

    def tallies(self) -> Mapping[str, int]:
        """Further counts of what was read last, by the recipe key that they are about."""
        return {}

    def first_rows(self, count: int) -> list[Row]:  # noqa: ARG002
        """At most `count` rows from the beginnings of the files, for a look; none where a whole file must be read."""
        return []

    @abstractmethod
    def check(self) -> None:
        """Check the first lines of each file; DataError if it has the wrong shape."""


UNITS_PER_BATCH = 10_000
"""Units per batch."""


def pack_units(units: Sequence[SourceUnit], output: type[Row]) -> SourceBatch:
    """Pack consecutive units of one file into columns."""
    outcomes = [unit.outcome for unit in units]
    lines = pa.array([unit.line for unit in units], pa.int64())
    reasons = pa.array([None if isinstance(outcome, Kept) else outcome.reason for outcome in outcomes], pa.string())
    details = pa.array(["" if isinstance(outcome, Kept) else outcome.detail for outcome in outcomes], pa.string())
    rows = Table.of([outcome.row for outcome in outcomes if isinstance(outcome, Kept)], output)
    return SourceBatch(units[0].file, lines, reasons, details, rows)


def unpack_units(batch: SourceBatch) -> Iterator[SourceUnit]:
    """The units of a batch, one by one."""
    rows = iter(batch.rows)
    columns: list[list[Any]] = [column.to_pylist() for column in (batch.lines, batch.reasons, batch.details)]
    for line, reason, detail in zip(*columns, strict=True):
        yield SourceUnit(batch.file, line, Kept(next(rows)) if reason is None else Dropped(reason, detail))
