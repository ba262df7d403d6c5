"""The base of sources that are read unit by unit: accounts, duplicates, shape."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.records.arrow.batches import Units
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept, Unit
from benchbuilder.core.records.row import MadeBy, Origin, Row
from benchbuilder.sources.base import UNITS, Source, SourceSpec
from benchbuilder.sources.columnar.deduplicate import Accounts, Made, content_digests
from benchbuilder.sources.formats.files import Found, wrong_shape
from benchbuilder.sources.formats.tables import Column, RawRow

S = TypeVar("S", bound=SourceSpec)

HEAD_ROWS = 20
"""How many units `check` looks at."""
ENOUGH_ROWS = 3
"""How many units must be there, and all of them unusable, before the file counts as wrong-shaped."""

READING_REASONS = {
    "malformed": "The unit is not a well-formed row: wrong number of columns, broken quoting, no JSON, wrong type.",
    "undecodable": "The unit has bytes that are not in the declared encoding.",
    "missing_field": "A field that the recipe names is missing or empty.",
    "duplicate": "An exact duplicate of an earlier unit of this source, which is kept.",
}


class Seen:
    """Where each content was first kept."""

    def __init__(self) -> None:
        self._first: dict[Hashable, tuple[str, int]] = {}

    def earlier(self, content: Hashable, file: str, line: int) -> str:
        """``file:line`` of the kept unit with this content, or "" if this is the first."""
        first = self._first.setdefault(content, (file, line))
        return "" if first == (file, line) else f"{first[0]}:{first[1]}"


class UnitSource(Source, Generic[S]):
    """Reads files unit by unit; `make` turns a unit's values into a row or a drop."""

    shape_reasons: ClassVar[frozenset[str]] = frozenset({"malformed", "undecodable", "missing_field"})
    """Drops that speak of a wrong-shaped file if every unit of its head has them."""
    shape_hint: ClassVar[str] = "check columns, delimiter, header and quoting in the recipe"
    """What to do about a wrong-shaped file."""
    at_once: ClassVar[int] = UNITS
    """How many units are held at a time."""
    spec: S

    @abstractmethod
    def columns(self) -> Sequence[Column]:
        """The columns that `make` gets, in this order."""

    @abstractmethod
    def make(self, values: Sequence[Any], found: Found, line: int) -> Row | Dropped:
        """The row of one unit, or why there is none."""

    @abstractmethod
    def selected(self) -> tuple[list[Found], list[Found]]:
        """The files that are read, and those that the recipe leaves out."""

    @abstractmethod
    def units(self, found: Found) -> Iterator[RawRow]:
        """The units of one file, in order. DataError if it has another shape than the recipe says."""

    def content(self, row: Row) -> Hashable:
        """What makes two rows exact duplicates."""
        return row.id

    def key(self, field: str) -> str:
        """The recipe key of a field of this source."""
        return f"sources.{self.name}.{field}"

    def envelope(self, found: Found, line: int) -> dict[str, Any]:
        """The envelope fields of a row."""
        return {
            "origin": Origin(file=found.name, line=line),
            "made_by": MadeBy(rule=self.kind, version=str(self.version)),
            "language": self.language,
            "partition": self.name,
        }

    def files(self) -> list[FileRef]:
        """Every file that is read, in order."""
        return [found.ref for found in self.selected()[0]]

    def small(self, found: Found) -> bool:  # noqa: ARG002
        """Whether the first units can be had without reading the whole file."""
        return True

    def check(self) -> None:
        """Look at the first units of each file: DataError if none of them can be used.

        A file whose first units cannot be had without reading it whole is left to `read`.
        """
        for found in self.selected()[0]:
            if self.small(found):
                self._judge(list(islice(self.units(found), HEAD_ROWS)), found)

    def read(self) -> Iterator[Unit | EndOfFile]:
        """The units of all files; a file that the recipe leaves out ends at once, marked as excluded."""
        chosen, excluded = self.selected()
        for found in excluded:
            yield EndOfFile(found.name, 0, {"excluded": 1})
        seen = Seen()
        for found in chosen:
            raws = self.units(found)
            head = list(islice(raws, HEAD_ROWS))
            self._judge(head, found)
            units = 0
            for raw in chain(head, raws):
                units += 1
                yield Unit(found.name, raw.line, self._fate(raw, found, seen))
            yield EndOfFile(found.name, units)

    def bulk(self) -> Iterator[Units | EndOfFile]:
        """The same as `read`, many units at a time, and duplicates found in little memory."""
        if type(self).read is not UnitSource.read:
            yield from super().bulk()
            return
        chosen, excluded = self.selected()
        for found in excluded:
            yield EndOfFile(found.name, 0, {"excluded": 1})
        with Accounts([found.name for found in chosen]) as accounts:
            for number, found in enumerate(chosen):
                units = 0
                for made in self.made(found):
                    units += len(made.lines)
                    yield accounts.settled(number, made)
                yield EndOfFile(found.name, units)

    def made(self, found: Found) -> Iterator[Made]:
        """What the units of a file were made, many at a time, duplicates included; here, one after the other."""
        raws = self.units(found)
        head = list(islice(raws, HEAD_ROWS))
        self._judge(head, found)
        rest = chain(head, raws)
        while chunk := list(islice(rest, self.at_once)):
            fates = [self._row(raw, found) for raw in chunk]
            rows = [fate for fate in fates if not isinstance(fate, Dropped)]
            yield Made(
                np.array([raw.line for raw in chunk], np.int64),
                {n: (fate.reason, fate.detail) for n, fate in enumerate(fates) if isinstance(fate, Dropped)},
                np.array([n for n, fate in enumerate(fates) if not isinstance(fate, Dropped)], np.int64),
                Table.of(rows, self.output),
                content_digests(map(self.content, rows)),
            )

    def _fate(self, raw: RawRow, found: Found, seen: Seen) -> Kept | Dropped:
        row = self._row(raw, found)
        if isinstance(row, Dropped):
            return row
        if earlier := seen.earlier(self.content(row), found.name, raw.line):
            return Dropped("duplicate", f"kept: {earlier}")
        return Kept(row)

    def _row(self, raw: RawRow, found: Found) -> Row | Dropped:
        return Dropped(raw.reason, raw.detail) if raw.reason else self.make(raw.values, found, raw.line)

    def _judge(self, head: Sequence[RawRow], found: Found) -> None:
        """DataError if there are enough units in the `head` of a file, and none of them can be used."""
        drops: list[Dropped] = []
        for raw in head:
            row = self._row(raw, found)
            if not isinstance(row, Dropped) or row.reason not in self.shape_reasons:
                return
            drops.append(row)
        if len(drops) >= ENOUGH_ROWS:
            encoding = f"set {self.key('encoding')} to the file's, for instance gb18030"
            raise wrong_shape(
                self.key("path"),
                found.name,
                expected=f"units with {', '.join(map(str, self.columns()))}",
                found=f"{drops[0].reason}: {drops[0].detail} (none of the first {len(drops)} units can be used)",
                next=encoding if drops[0].reason == "undecodable" else self.shape_hint,
            )
