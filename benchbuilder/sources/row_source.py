"""The base class of sources of tables, records or texts in files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, TypeVar

from benchbuilder.core import DataError
from benchbuilder.sources.formats.delimited import TableDialect, delimited_rows
from benchbuilder.sources.formats.files import SourceFile, find_files
from benchbuilder.sources.formats.json_records import json_rows, jsonl_rows
from benchbuilder.sources.formats.parquet import parquet_rows
from benchbuilder.sources.formats.plain_text import text_rows
from benchbuilder.sources.formats.tables import TABLE_SUFFIXES, RawRow, TableFormat, TableSpec
from benchbuilder.sources.unit_source import UnitSource

T = TypeVar("T", bound=TableSpec)

DELIMITED_FORMATS: frozenset[TableFormat | None] = frozenset({"csv", "tsv", "delimited"})
"""Text formats with delimited cells."""
LARGE_JSON_BYTES = 8_000_000
"""`check` skips larger JSON documents, as they are parsed completely."""


class RowSource(UnitSource[T]):
    """Reads files in the format that `format` or their suffix names."""

    default_format: ClassVar[TableFormat | None] = None

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files that are read, and those that the recipe leaves out."""
        spec = self.spec
        suffixes = [
            s
            for s in TABLE_SUFFIXES
            if spec.format is None or TABLE_SUFFIXES[s] == spec.format or spec.format == "delimited"
        ]
        return find_files(spec.path, self.key("path"), suffixes, spec.files), []

    def format_of(self, source_file: SourceFile) -> TableFormat | None:
        """The format of a file by declaration, suffix, or the default of the kind."""
        known = self.spec.format or TABLE_SUFFIXES.get(source_file.path.suffix.lower())
        if known == "text" and self.spec.format is None:
            return self.default_format
        return known or self.default_format

    def can_read_head(self, source_file: SourceFile) -> bool:
        """All but large JSON documents."""
        return self.format_of(source_file) != "json" or source_file.path.stat().st_size <= LARGE_JSON_BYTES

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """The units of one file, in order."""
        spec, key, columns = self.spec, self.key("path"), self.columns()
        form = self.format_of(source_file)
        if form == "json":
            return json_rows(
                source_file.path, source_file.name, columns, key=key, encoding=spec.encoding, records=spec.records
            )
        if form == "jsonl":
            return jsonl_rows(source_file.path, spec.encoding, columns)
        if form == "parquet":
            return parquet_rows(source_file.path, source_file.name, key, columns)
        if form == "text" and self.default_format == "text":
            return text_rows(source_file.path, spec.encoding, spec.unit, len(columns))
        if form in DELIMITED_FORMATS:
            return delimited_rows(source_file.path, source_file.name, self.dialect(form), columns)
        raise DataError(
            f"{key}: the format of {source_file.name} is not known",
            where=source_file.name,
            why=f"the suffix {source_file.path.suffix!r} is unknown to the kind {self.kind!r}",
            next=f"set {self.key('format')}, for instance to jsonl or csv",
        )

    def dialect(self, table_format: TableFormat | None) -> TableDialect:
        """The dialect of a delimited file."""
        spec, comma = self.spec, table_format == "csv"
        return TableDialect(
            key=self.key("path"),
            encoding=spec.encoding,
            delimiter=spec.delimiter or ("," if comma else "\t"),
            quoting=comma if spec.quoting is None else spec.quoting,
            header=spec.header,
            width=spec.width,
        )
