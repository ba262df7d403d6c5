"""The base classes of sources that read unit by unit: row accounting, duplicates, shape and format of files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from benchbuilder.annotation import NoSuchWorksheetError, UnreadableWorkbookError
from benchbuilder.config import FileRef
from benchbuilder.core import (
    DataError,
    Dropped,
    EndOfFile,
    Kept,
    Origin,
    ProducedBy,
    Row,
    SourceBatch,
    SourceUnit,
    Table,
)
from benchbuilder.sources.base import UNITS_PER_BATCH, Source, SourceSpec
from benchbuilder.sources.columnar.columns import ColumnBatch, delimited_columns, parquet_columns, row_columns
from benchbuilder.sources.columnar.duplicates import DuplicateFinder, UnitBatch, content_digests
from benchbuilder.sources.formats.cleaning import CellSplitter, ColumnCleaner
from benchbuilder.sources.formats.delimited import (
    TABLES_VERSION,
    RowCells,
    TableDialect,
    delimited_names,
    delimited_rows,
    header_names,
    read_layout,
    select_columns,
)
from benchbuilder.sources.formats.field_paths import is_plain, record_rows, table_columns, table_units
from benchbuilder.sources.formats.files import SourceFile, find_files, import_library, wrong_shape
from benchbuilder.sources.formats.large_json import LARGE_JSON_BYTES, can_split
from benchbuilder.sources.formats.records import is_json_lines, json_rows, jsonl_rows, parquet_names, parquet_rows
from benchbuilder.sources.formats.tables import (
    TABLE_SUFFIXES,
    Column,
    RawRow,
    TableFormat,
    TableSpec,
    encoding_advice,
    text_rows,
)

S = TypeVar("S", bound=SourceSpec)

HEAD_ROWS = 20
"""Units that `check` reads."""
MIN_HEAD_ROWS = 3
"""Fewest units, all of them unusable, that make a file wrong-shaped."""

READING_REASONS = {
    "malformed": "The unit is malformed: wrong number of columns, broken quoting, invalid JSON, wrong type.",
    "undecodable": "The unit has bytes that are not in the declared encoding.",
    "missing_field": "A field that the recipe names is missing or empty.",
    "duplicate": "An exact duplicate of an earlier unit of this source, which is kept.",
}


class SeenContents:
    """Where each content was first kept."""

    def __init__(self) -> None:
        self._first: dict[Hashable, tuple[str, int]] = {}

    def find_earlier(self, content: Hashable, file: str, line: int) -> str:
        """``file:line`` of the kept unit with this content, or "" if this is the first."""
        first = self._first.setdefault(content, (file, line))
        return "" if first == (file, line) else f"{first[0]}:{first[1]}"


class UnitSource(Source, Generic[S]):
    """Reads files unit by unit; `make` turns a unit's values into a row or a drop."""

    shape_reasons: ClassVar[frozenset[str]] = frozenset({"malformed", "undecodable", "missing_field"})
    """Reasons that indicate a wrong-shaped file if every unit of its head has one."""
    shape_hint: ClassVar[str] = "check columns, delimiter, header and quoting in the recipe"
    """Advice for a wrong-shaped file."""
    units_at_once: ClassVar[int] = UNITS_PER_BATCH
    """Units in memory at a time."""
    spec: S

    @abstractmethod
    def columns(self) -> Sequence[Column]:
        """The columns that `make` receives, in order."""

    @abstractmethod
    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The row of one unit, or why there is none."""

    @abstractmethod
    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files to read, and the files that the recipe excludes."""

    @abstractmethod
    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file, in order. DataError if it has another shape than the recipe says."""

    def duplicate_key(self, row: Row) -> Hashable:
        """What makes two rows exact duplicates: by default the id, so equal content."""
        return row.id

    def key(self, field: str) -> str:
        """The recipe key of a field of this source."""
        return f"sources.{self.name}.{field}"

    def row_header(self, source_file: SourceFile, line: int) -> dict[str, Any]:
        """The row header."""
        origin = Origin(file=source_file.name, line=line)
        produced_by = ProducedBy(rule=self.kind, version=str(self.version))
        return {"origin": origin, "produced_by": produced_by, "language": self.language, "partition": self.name}

    def files(self) -> list[FileRef]:
        """Every file that is read, in order."""
        return [file.ref for file in self.select_files()[0]]

    def can_read_head(self, source_file: SourceFile) -> bool:  # noqa: ARG002
        """Whether the first units can be read without reading the complete file."""
        return True

    def check(self) -> None:
        """Check the first units of each file that can be read in part; DataError if none can be used."""
        for file in self.select_files()[0]:
            if self.can_read_head(file):
                self._check_head(list(islice(self.units(file), HEAD_ROWS)), file)

    def first_rows(self, count: int) -> list[Row]:
        """The rows of the first units of each file that can be read in part."""
        if type(self).read is not UnitSource.read:
            return []
        files = [file for file in self.select_files()[0] if self.can_read_head(file)]
        each = max(count // max(len(files), 1), 1)
        units = ((raw, file) for file in files for raw in islice(self.units(file), each))
        outcomes = (self._row(raw, file) for raw, file in islice(units, count))
        return [outcome for outcome in outcomes if not isinstance(outcome, Dropped)]

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The units of all files; a file that the recipe leaves out ends at once, marked as excluded."""
        chosen, excluded = self.select_files()
        yield from (EndOfFile(file.name, 0, {"excluded": 1}) for file in excluded)
        seen = SeenContents()
        for file in chosen:
            units = 0
            for units, raw in enumerate(self._checked_units(file), 1):  # noqa: B007
                row = self._row(raw, file)
                if not isinstance(row, Dropped) and (
                    earlier := seen.find_earlier(self.duplicate_key(row), file.name, raw.line)
                ):
                    row = Dropped("duplicate", f"kept: {earlier}")
                yield SourceUnit(file.name, raw.line, row if isinstance(row, Dropped) else Kept(row))
            yield EndOfFile(file.name, units)

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        """Like `read`, in batches, with duplicates found in little memory."""
        if type(self).read is not UnitSource.read:
            yield from super().read_batches()
            return
        chosen, excluded = self.select_files()
        yield from (EndOfFile(file.name, 0, {"excluded": 1}) for file in excluded)
        with DuplicateFinder([file.name for file in chosen]) as accounts:
            for number, file in enumerate(chosen):
                units = 0
                for batch in self.unit_batches(file):
                    units += len(batch.lines)
                    yield accounts.drop_duplicates(number, batch)
                yield EndOfFile(file.name, units)

    def unit_batches(self, source_file: SourceFile) -> Iterator[UnitBatch]:
        """The rows and drops of a file in batches, including duplicates; here unit by unit."""
        raws = self._checked_units(source_file)
        while chunk := list(islice(raws, self.units_at_once)):
            outcomes = [self._row(raw, source_file) for raw in chunk]
            drops = {n: (drop.reason, drop.detail) for n, drop in enumerate(outcomes) if isinstance(drop, Dropped)}
            rows = [outcome for outcome in outcomes if not isinstance(outcome, Dropped)]
            places = np.array([n for n in range(len(chunk)) if n not in drops], np.int64)
            lines, digests = np.array([raw.line for raw in chunk], np.int64), map(self.duplicate_key, rows)
            yield UnitBatch(lines, drops, places, Table.of(rows, self.output), content_digests(digests))

    def _checked_units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file, after a check of the first ones."""
        raws = self.units(source_file)
        head = list(islice(raws, HEAD_ROWS))
        self._check_head(head, source_file)
        return chain(head, raws)

    def _row(self, raw: RawRow, source_file: SourceFile) -> Row | Dropped:
        return Dropped(raw.reason, raw.detail) if raw.reason else self.make(raw.values, source_file, raw.line)

    def _check_head(self, head: Sequence[RawRow], source_file: SourceFile) -> None:
        """DataError if there are enough units in the `head` of a file, and none of them can be used."""
        drops: list[Dropped] = []
        for raw in head:
            row = self._row(raw, source_file)
            if not isinstance(row, Dropped) or row.reason not in self.shape_reasons:
                return
            drops.append(row)
        if len(drops) >= MIN_HEAD_ROWS:
            raise wrong_shape(
                self.key("path"), source_file.name, expected=f"units with {', '.join(map(str, self.columns()))}",
                found=f"{drops[0].reason}: {drops[0].detail} (none of the first {len(drops)} units can be used)",
                next=encoding_advice(source_file.path, self.key("encoding"))
                if drops[0].reason == "undecodable" else self.shape_hint,
            )  # fmt: skip


T = TypeVar("T", bound=TableSpec)

_QUOTED_CELLS = 2
"""So many cells in quotation marks are a question to the author."""
DELIMITED_FORMATS: frozenset[TableFormat | None] = frozenset({"csv", "tsv", "delimited"})
"""Text formats with delimited cells."""


class RowSource(UnitSource[T]):
    """Reads files in the format that `format` or their suffix names."""

    default_format: ClassVar[TableFormat | None] = None

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the reader of tables."""
        return {"tables": TABLES_VERSION}

    def _check_head(self, head: Sequence[RawRow], source_file: SourceFile) -> None:
        """DataError too if cells are in quotation marks, and the recipe does not say what these mean."""
        form = self.format_of(source_file)
        if form in DELIMITED_FORMATS and self.spec.quoting is None and not self.dialect(form).quoting:
            cells = [cell for raw in head for cell in raw.values if isinstance(cell, str)]
            if len(quoted := [cell for cell in cells if len(cell) > 1 and cell[0] == cell[-1] == '"']) >= _QUOTED_CELLS:
                raise wrong_shape(
                    self.key("quoting"), source_file.name, expected="cells without quotation marks around them",
                    found=f"{len(quoted)} cells in the first {len(head)} rows such as {quoted[0][:80]}",
                    next=f"set {self.key('quoting')}: true, as spreadsheets save, or false where the marks are text",
                )  # fmt: skip
        super()._check_head(head, source_file)

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files that are read, and those that the recipe leaves out."""
        spec = self.spec
        every = spec.format in (None, "delimited")
        suffixes = [suffix for suffix, form in TABLE_SUFFIXES.items() if every or form == spec.format]
        return find_files(spec.path, self.key("path"), suffixes, spec.files), []

    def format_of(self, source_file: SourceFile) -> TableFormat | None:
        """The format of a file by declaration, suffix, or the default of the kind."""
        known = self.spec.format or TABLE_SUFFIXES.get(source_file.path.suffix.lower())
        if known == "json" and self.spec.format is None and is_json_lines(source_file.path, self.spec.encoding):
            return "jsonl"
        if known == "text" and self.spec.format is None:
            return self.default_format
        return known or self.default_format

    def can_read_head(self, source_file: SourceFile) -> bool:
        """All but large JSON documents that cannot be read in parts."""
        small = self.format_of(source_file) != "json" or source_file.path.stat().st_size <= LARGE_JSON_BYTES
        return small or can_split(self.spec.records)

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file, in order, cleaned."""
        rows = self.read_columns(source_file, self.columns())
        rows = rows if self._cleaner is None else self._cleaner.clean(rows)
        return rows if self._splitter is None else self._splitter.split(rows)

    def read_columns(self, source_file: SourceFile, columns: Sequence[Column]) -> Iterator[RawRow]:
        """Any columns of one file, as it has them."""
        spec, form = self.spec, self.format_of(source_file)
        path, name = source_file.path, source_file.name
        if form in ("json", "jsonl"):
            read = json_rows if form == "json" else jsonl_rows
            return read(path, name, columns, key=self.key("path"), encoding=spec.encoding, records=spec.records)
        if form == "text" and self.default_format == "text":
            return text_rows(path, spec.encoding, spec.unit, len(columns))
        if self._reads_by_column(columns):
            return self._table_rows(source_file, columns)
        known = self._table_names(source_file)
        needed = table_columns(known, columns, spec.records)
        units = table_units(
            self._table_rows(source_file, needed), list(map(str, needed)), spec.records, parse_json=spec.cells == "json"
        )
        return record_rows(units, list(map(str, columns)), self.key("columns"), name)

    def _table_names(self, source_file: SourceFile) -> list[str]:
        """The names of the columns of a table."""
        form, path, name, key = self.format_of(source_file), source_file.path, source_file.name, self.key("path")
        if form == "parquet":
            return parquet_names(path, name, key)
        if form == "xlsx":
            from benchbuilder.sources.unit_source import workbook_names  # loads a large library

            return workbook_names(path, name, self.dialect("csv"), self.spec.sheet)
        return delimited_names(path, name, self.dialect(form)) if form in DELIMITED_FORMATS else []

    def _table_rows(self, source_file: SourceFile, columns: Sequence[Column]) -> Iterator[RawRow]:
        """The rows of a table with these columns."""
        form, path, name, key = self.format_of(source_file), source_file.path, source_file.name, self.key("path")
        if form == "parquet":
            return parquet_rows(path, name, key, columns)
        if form == "xlsx":
            from benchbuilder.sources.unit_source import workbook_rows

            return workbook_rows(path, name, self.dialect("csv"), columns, self.spec.sheet)
        if form in DELIMITED_FORMATS:
            return delimited_rows(path, name, self.dialect(form), columns)
        raise DataError(
            f"{key}: the format of {name} is not known",
            where=name,
            why=f"the suffix {path.suffix!r} is unknown to the kind {self.kind!r}",
            next=f"set {self.key('format')}, for instance to jsonl or csv",
        )

    def _reads_by_column(self, columns: Sequence[Column]) -> bool:
        """Whether the cells of tables are the values, without paths into them."""
        return self.spec.cells == "text" and not self.spec.records and all(map(is_plain, columns))

    @cached_property
    def _cleaner(self) -> ColumnCleaner | None:
        if not self.spec.clean:
            return None
        return ColumnCleaner(self.spec.clean, self._named_columns(), self.columns(), self.key("clean"))

    @cached_property
    def _splitter(self) -> CellSplitter | None:
        if not self.spec.separators:
            return None
        return CellSplitter(self.spec.separators, self._named_columns(), self.columns(), self.key("separators"))

    def _named_columns(self) -> dict[str, list[Column]]:
        """The columns that the recipe names, by the names of the settings that name them."""
        spec: Any = self.spec
        columns: dict[str, list[Column]] = {}
        for name in type(spec.columns).model_fields:
            value = getattr(spec.columns, name)
            parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]
            if value is not None:
                columns[name] = list(parts)
        return columns

    def read_batches(self) -> Iterator[SourceBatch | EndOfFile]:
        """Like `read`, in batches; at the end, each rule of `clean` must have changed something."""
        if self._cleaner is not None:
            self._cleaner.begin()
        yield from super().read_batches()
        if self._cleaner is not None:
            self._cleaner.check_all_used(self.name)

    def tallies(self) -> Mapping[str, int]:
        """The records that each rule of `clean` changed."""
        return {} if self._cleaner is None else self._cleaner.changed

    def dialect(self, table_format: TableFormat | None) -> TableDialect:
        """The dialect of a delimited file."""
        spec, comma = self.spec, table_format == "csv"
        quoting = comma if spec.quoting is None else spec.quoting
        delimiter = spec.delimiter or ("," if comma else "\t")
        return TableDialect(
            self.key("path"), spec.encoding, delimiter, quoting, bool(spec.header), spec.width, int(spec.header) or 1
        )

    def column_batches(self, source_file: SourceFile) -> Iterator[ColumnBatch]:
        """The cells of one file by column, after a check of its head."""
        form, columns = self.format_of(source_file), self.columns()
        by_column = self._cleaner is None and self._splitter is None and self._reads_by_column(columns)
        if not by_column or form not in {*DELIMITED_FORMATS, "parquet"}:
            return row_columns(self._checked_units(source_file), len(columns))
        self._check_head(list(islice(self.units(source_file), HEAD_ROWS)), source_file)
        if form in DELIMITED_FORMATS:
            return delimited_columns(source_file.path, source_file.name, self.dialect(form), columns)
        return parquet_columns(source_file.path, source_file.name, self.key("path"), columns)


def workbook_rows(
    path: Path, name: str, dialect: TableDialect, columns: Sequence[Column], sheet: str
) -> Iterator[RawRow]:
    """The rows of the worksheet `sheet` (or the first one) that are not empty, with their numbers in it.

    DataError if the file cannot be read, or has no such worksheet or column.
    """
    least = max((column + 1 for column in columns if isinstance(column, int)), default=0)
    rows = _sheet_rows(path, name, dialect, sheet, least)
    yield from select_columns(rows, read_layout(rows, name, dialect, columns))


def workbook_names(path: Path, name: str, dialect: TableDialect, sheet: str) -> list[str]:
    """The names of the columns of the worksheet."""
    return header_names(_sheet_rows(path, name, dialect, sheet), name, dialect)


def _sheet_rows(path: Path, name: str, dialect: TableDialect, sheet: str, least: int = 0) -> Iterator[RowCells]:
    """Rows of equal width: that of the first row, or `least`. A worksheet does not say where a row ends."""
    import_library("openpyxl", "xlsx", name)
    from benchbuilder.annotation import UnclearCell, open_worksheet

    try:
        with open_worksheet(path, sheet) as rows:
            width = 0
            for number, cells in enumerate(rows, 1):
                if any(cells) and number >= dialect.first:
                    width = width or max(_filled(cells), least, dialect.width or 0)
                    unclear = {place: cell.why for place, cell in enumerate(cells) if isinstance(cell, UnclearCell)}
                    yield RowCells(number, [*cells, *[""] * (width - len(cells))][:width], unclear=unclear)
    except UnreadableWorkbookError as error:
        raise wrong_shape(
            dialect.key, name, expected="an XLSX file", found=str(error), next="save it as XLSX, without a password"
        ) from error
    except NoSuchWorksheetError as error:
        raise wrong_shape(
            dialect.key, name, expected=f"the worksheet {sheet!r}", found=f"the worksheets {error}",
            next="set sheet: to one of them",
        ) from None  # fmt: skip


def _filled(cells: Sequence[str]) -> int:
    """The number of cells up to the last one that is not empty."""
    return max((place for place, cell in enumerate(cells, 1) if cell), default=0)
