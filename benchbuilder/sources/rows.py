"""The base of sources whose units are rows of tables, records or texts: accounts, duplicates, shape."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from itertools import chain, islice
from math import isnan
from typing import Any, ClassVar, Generic, TypeVar

from benchbuilder.errors import DataError
from benchbuilder.ports.source import Source
from benchbuilder.records.envelope import MadeBy, Origin, Row
from benchbuilder.records.fates import Dropped, EndOfFile, Kept, Unit
from benchbuilder.sources.delimited import Cut, delimited_rows
from benchbuilder.sources.files import Found, find_files, wrong_shape
from benchbuilder.sources.json_records import json_rows, jsonl_rows
from benchbuilder.sources.parquet import parquet_rows
from benchbuilder.sources.plain_text import text_rows
from benchbuilder.sources.reading import SUFFIXES, Column, Format, RawRow, TableSpec
from benchbuilder.spec.base import FileRef

S = TypeVar("S", bound=TableSpec)
find_surrogate = re.compile("[\ud800-\udfff]").search

HEAD_ROWS = 20
"""How many units `check` looks at."""
LARGE_JSON_BYTES = 8_000_000
"""A JSON document is parsed whole; `check` leaves out larger ones."""
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


class RowSource(Source, Generic[S]):
    """Reads files unit by unit; `make` turns a unit's values into a row or a drop."""

    default_format: ClassVar[Format | None] = None
    shape_reasons: ClassVar[frozenset[str]] = frozenset({"malformed", "undecodable", "missing_field"})
    """Drops that speak of a wrong-shaped file if every unit of its head has them."""
    spec: S

    @abstractmethod
    def columns(self) -> Sequence[Column]:
        """The columns that `make` gets, in this order."""

    @abstractmethod
    def make(self, values: Sequence[Any], found: Found, line: int) -> Row | Dropped:
        """The row of one unit, or why there is none."""

    def content(self, row: Row) -> Hashable:
        """What makes two rows exact duplicates."""
        return row.id

    def selected(self) -> tuple[list[Found], list[Found]]:
        """The files that are read, and those that the recipe leaves out."""
        spec = self.spec
        suffixes = [
            s for s in SUFFIXES if spec.format is None or SUFFIXES[s] == spec.format or spec.format == "delimited"
        ]
        return find_files(spec.path, self.key("path"), suffixes, spec.files), []

    def key(self, field: str) -> str:
        """The recipe key of a field of this source."""
        return f"sources.{self.name}.{field}"

    def form(self, found: Found) -> Format | None:
        """The format of a file by declaration, suffix, or the default of the kind."""
        known = self.spec.format or SUFFIXES.get(found.at.suffix.lower())
        if known == "text" and self.spec.format is None:
            return self.default_format
        return known or self.default_format

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

    def check(self) -> None:
        """Look at the first units of each file: DataError if none of them can be used.

        A large JSON document is left to `read`.
        """
        for found in self.selected()[0]:
            if self.form(found) != "json" or found.at.stat().st_size <= LARGE_JSON_BYTES:
                self._judge(list(islice(self._open(found), HEAD_ROWS)), found)

    def read(self) -> Iterator[Unit | EndOfFile]:
        """The units of all files; a file that the recipe leaves out ends at once, marked as excluded."""
        chosen, excluded = self.selected()
        for found in excluded:
            yield EndOfFile(found.name, 0, {"excluded": 1})
        seen = Seen()
        for found in chosen:
            raws = self._open(found)
            head = list(islice(raws, HEAD_ROWS))
            self._judge(head, found)
            units = 0
            for raw in chain(head, raws):
                units += 1
                yield Unit(found.name, raw.line, self._fate(raw, found, seen))
            yield EndOfFile(found.name, units)

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
                next=encoding
                if drops[0].reason == "undecodable"
                else "check columns, delimiter, header and quoting in the recipe",
            )

    def _open(self, found: Found) -> Iterator[RawRow]:
        spec, key, columns = self.spec, self.key("path"), self.columns()
        form = self.form(found)
        if form == "json":
            return json_rows(found.at, found.name, columns, key=key, encoding=spec.encoding, records=spec.records)
        if form == "jsonl":
            return jsonl_rows(found.at, spec.encoding, columns)
        if form == "parquet":
            return parquet_rows(found.at, found.name, key, columns)
        if form == "text" and self.default_format == "text":
            return text_rows(found.at, spec.encoding, spec.unit, len(columns))
        if form in ("csv", "tsv", "delimited"):
            comma = form == "csv"
            cut = Cut(
                key=key,
                encoding=spec.encoding,
                delimiter=spec.delimiter or ("," if comma else "\t"),
                quoting=comma if spec.quoting is None else spec.quoting,
                header=spec.header,
                width=spec.width,
            )
            return delimited_rows(found.at, found.name, cut, columns)
        raise DataError(
            f"{key}: the format of {found.name} is not known",
            where=found.name,
            why=f"the suffix {found.at.suffix!r} says nothing that the kind {self.kind!r} can read",
            next=f"set {self.key('format')}, for instance to jsonl or csv",
        )


def text_of(value: Any) -> str | None:
    """A cell as text without white space around it; ``None`` if it is neither a number nor text that can be encoded."""
    if isinstance(value, str):
        return value.strip() if value.isascii() or not find_surrogate(value) else None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value):
        return None
    return str(value)
