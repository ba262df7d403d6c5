"""The base of sources whose units are rows of tables, records or texts in files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan
from typing import Any, ClassVar, TypeVar

from benchbuilder.core.errors import DataError
from benchbuilder.sources.formats.delimited import Cut, delimited_rows
from benchbuilder.sources.formats.files import Found, find_files
from benchbuilder.sources.formats.json_records import json_rows, jsonl_rows
from benchbuilder.sources.formats.parquet import parquet_rows
from benchbuilder.sources.formats.plain_text import text_rows
from benchbuilder.sources.formats.tables import SUFFIXES, Format, RawRow, TableSpec
from benchbuilder.sources.unit_source import READING_REASONS, UnitSource

__all__ = ["READING_REASONS", "RowSource", "text_of"]

T = TypeVar("T", bound=TableSpec)
find_surrogate = re.compile("[\ud800-\udfff]").search

DELIMITED: frozenset[Format | None] = frozenset({"csv", "tsv", "delimited"})
"""Forms of text that are cut into cells at delimiters."""
LARGE_JSON_BYTES = 8_000_000
"""A JSON document is parsed whole; `check` leaves out larger ones."""


class RowSource(UnitSource[T]):
    """Reads files of the formats that `format` names, or that their suffixes tell."""

    default_format: ClassVar[Format | None] = None

    def selected(self) -> tuple[list[Found], list[Found]]:
        """The files that are read, and those that the recipe leaves out."""
        spec = self.spec
        suffixes = [
            s for s in SUFFIXES if spec.format is None or SUFFIXES[s] == spec.format or spec.format == "delimited"
        ]
        return find_files(spec.path, self.key("path"), suffixes, spec.files), []

    def form(self, found: Found) -> Format | None:
        """The format of a file by declaration, suffix, or the default of the kind."""
        known = self.spec.format or SUFFIXES.get(found.at.suffix.lower())
        if known == "text" and self.spec.format is None:
            return self.default_format
        return known or self.default_format

    def small(self, found: Found) -> bool:
        """All but large JSON documents."""
        return self.form(found) != "json" or found.at.stat().st_size <= LARGE_JSON_BYTES

    def units(self, found: Found) -> Iterator[RawRow]:
        """The units of one file, in order."""
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
        if form in DELIMITED:
            return delimited_rows(found.at, found.name, self.cut(form), columns)
        raise DataError(
            f"{key}: the format of {found.name} is not known",
            where=found.name,
            why=f"the suffix {found.at.suffix!r} says nothing that the kind {self.kind!r} can read",
            next=f"set {self.key('format')}, for instance to jsonl or csv",
        )

    def cut(self, form: Format | None) -> Cut:
        """How a file of one of the delimited forms is cut."""
        spec, comma = self.spec, form == "csv"
        return Cut(
            key=self.key("path"),
            encoding=spec.encoding,
            delimiter=spec.delimiter or ("," if comma else "\t"),
            quoting=comma if spec.quoting is None else spec.quoting,
            header=spec.header,
            width=spec.width,
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
